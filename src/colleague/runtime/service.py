"""What a person or a program can have done to a home: one place for the command line and the HTTP API."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from colleague.agent.main_agent import OWNER
from colleague.agent.main_agent import SESSION as MAIN_SESSION
from colleague.config import Settings
from colleague.config.status import require_enforced
from colleague.errors import UsageError
from colleague.experts.expert import find_expert
from colleague.experts.launch_acceptance import accept_one
from colleague.experts.runs.invoke import Invocation, find_process
from colleague.experts.runs.preflight import Preflight
from colleague.experts.runs.retry import drop_dead_letter, retry_run
from colleague.experts.workspace.restore import restore_file
from colleague.home import Home
from colleague.store.accept import Accepted, Arrival, accept
from colleague.store.approvals import Answer, Approval, Decision, decide, get_approval
from colleague.store.call_target import CallTarget
from colleague.store.cancel import cancel
from colleague.store.grants import give_grant, revoke_grant
from colleague.store.journal import get_call
from colleague.store.lookup import full_id
from colleague.store.outbox import mark_read
from colleague.store.run import DryRun
from colleague.store.tables import approvals, grants, outbox, runs
from colleague.store.tx import Database, Tx
from colleague.triggers.errors import BadPayload
from colleague.triggers.gmail.messages import gmail_payloads
from colleague.triggers.intake import arrival_of, fire
from colleague.triggers.pausing import pause, resume
from colleague.triggers.registry import BoundTrigger, TriggerRegistry

Source = Literal["command", "api", "page", "chat", "link"]


@dataclass(frozen=True)
class Verdict:
    """One decision. `digest` is what the person saw; empty takes the one that is stored now.

    `grant_ms`: do not ask again for this long; 0 means for this run. `grant_only`: arguments that must stay
    what they are now for the grant to count."""

    approval: str
    decision: Decision
    by: str
    digest: str = ""
    note: str = ""
    answer: str | None = None
    grant_ms: int | None = None
    grant_only: tuple[str, ...] = ()


@dataclass(frozen=True)
class LocalService:
    """Acts on an open database. What it changes wakes the worker by itself.

    Whatever sets a run going is refused under settings with a restriction that nothing enforces."""

    home: Home
    settings: Settings
    database: Database
    registry: TriggerRegistry
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @property
    def _preflight(self) -> Preflight:
        return Preflight(self.home, self.settings, self.environ)

    async def decide(self, verdicts: Sequence[Verdict]) -> list[Approval]:
        """All of them or none; raises on the first that does not count."""
        require_enforced(self.settings)
        return await self.database.write(lambda tx: [_decide(tx, verdict) for verdict in verdicts])

    async def start(
        self,
        expert: str,
        *,
        task: str = "",
        process: str = "",
        inputs: dict[str, Any] | None = None,
        model: str = "",
        dry_run: DryRun = False,
        source: Source = "command",
    ) -> Accepted:
        """A free task, or a named process with its inputs. Raises CannotStart before there is a run."""
        require_enforced(self.settings)

        def arrive() -> Arrival:
            found = find_expert(self.home, expert)
            asked = Invocation(self.home, found, found.load(), model, dry_run)
            named = find_process(asked.package, process) if process else None
            self._preflight.check_expert(found, asked.package, named, model, dry_run=bool(dry_run))
            if named:
                return asked.process(named, inputs or {}, source=source)
            return asked.task(task, source=source)

        arrival = await asyncio.to_thread(arrive)
        return await self.database.write(lambda tx: accept(tx, arrival))

    async def say(self, message: str, *, model: str = "", source: Source = "command") -> Accepted:
        """One turn of the main agent. Raises CannotStart before there is a run."""
        require_enforced(self.settings)
        await asyncio.to_thread(self._preflight.check_model, model)
        body = json.dumps({"message": message}, ensure_ascii=False)
        arrival = Arrival(
            kind="agent",
            expert=OWNER,
            trigger=source,
            source=source,
            payload=body,
            inputs=body,
            session_key=MAIN_SESSION,
            lane=MAIN_SESSION,
            model=model,
        )
        return await self.database.write(lambda tx: accept(tx, arrival))

    async def fire(self, expert: str, trigger: str, payload: Any, *, source: Source = "command") -> Accepted:
        """An event by hand, in the way a real one takes. Raises Inactive when the trigger is not active."""
        require_enforced(self.settings)
        wired = self.registry.find(expert, trigger)
        wired.require_active()
        window = self.settings.experts.dedupe_window
        arrival = await asyncio.to_thread(
            arrival_of, self.home, wired, _enriched(wired, payload), source=source, dedupe_window=window
        )
        return await self.database.write(lambda tx: fire(tx, arrival))

    async def pause(self, expert: str, trigger: str, by: str) -> bool:
        """False when it was paused already."""
        wired = self.registry.find(expert, trigger)
        return await self.database.write(lambda tx: pause(tx, wired, by))

    async def resume(self, expert: str, trigger: str) -> int | None:
        """How many held events were released; None when it was not paused."""
        wired = self.registry.find(expert, trigger)
        return await self.database.write(lambda tx: resume(tx, self.home, wired))

    async def cancel(self, run: str, reason: str) -> bool:
        """False when it had ended already."""
        return await self.database.write(lambda tx: cancel(tx, full_id(tx, runs, "run", run), reason))

    async def retry(self, run: str, changes: dict[str, Any] | None = None) -> str:
        """Begins the next attempt of a run that ended badly; its whole id."""
        require_enforced(self.settings)
        run_id = await self.database.read(lambda tx: full_id(tx, runs, "run", run))
        await retry_run(self.database, self.home, run_id, changes or {})
        return run_id

    async def drop(self, run: str, by: str) -> None:
        await self.database.write(lambda tx: drop_dead_letter(tx, full_id(tx, runs, "run", run), by))

    async def read(self, delivery: str, by: str) -> bool:
        """Somebody has read it. False when somebody had before, or it goes to another place."""
        return await self.database.write(
            lambda tx: bool(mark_read(tx, [full_id(tx, outbox, "delivery", delivery)], by))
        )

    async def accept_server(self, name: str, digest: str, by: str) -> None:
        """The MCP server may be started; `digest` is of the entry that the person looked at."""
        await accept_one(self.database, self.settings, name, digest, by)

    async def restore(self, expert: str, file: str, version: int) -> dict[str, Any]:
        """Puts a version of a file back; see restore_file."""
        return await restore_file(self.home, self.settings, self.database, expert, file, version)

    async def revoke(self, grant: str) -> None:
        await self.database.write(lambda tx: revoke_grant(tx, full_id(tx, grants, "grant", grant)))


def _enriched(wired: BoundTrigger, payload: Any) -> Any:
    """As the preset makes it of what comes from outside."""
    if wired.trigger.preset != "gmail":
        return payload
    payloads = gmail_payloads(payload)
    if len(payloads) != 1:
        raise BadPayload(f"there are {len(payloads)} messages in this payload", hint="fire one at a time")
    return payloads[0]


def _decide(tx: Tx, verdict: Verdict) -> Approval:
    seen = get_approval(tx, full_id(tx, approvals, "approval", verdict.approval))
    _give_grant(tx, seen, verdict)
    answer = Answer(
        seen.id, verdict.digest or seen.digest, verdict.decision, verdict.by, verdict.note, verdict.answer
    )
    return decide(tx, answer)


def _give_grant(tx: Tx, seen: Approval, verdict: Verdict) -> None:
    if verdict.grant_ms is None:
        if verdict.grant_only:
            raise UsageError("only limits a grant, and none is given", hint="say for how long: --grant 30m")
        return
    if seen.kind != "confirm" or verdict.decision != "approve":
        what = seen.kind if seen.kind != "confirm" else verdict.decision
        raise UsageError(f"a grant spares a confirm, and this is {what}", hint="decide without --grant")
    call = get_call(tx, seen.call_id) if seen.call_id else None
    if call is not None and not call.server:
        hint = "decide without --grant; each change of such a file is asked about"
        raise UsageError(f"a grant is for tools of MCP servers, and {seen.operation} is none", hint=hint)
    target = CallTarget.of_json(call.target) if call else None
    if target is None:
        raise UsageError(
            "this question was asked by an older Colleague, so a grant could not be bound to a server",
            hint="decide without --grant; a grant can be given with the next one",
        )
    run_id, lasts = (seen.run_id, None) if verdict.grant_ms == 0 else (None, verdict.grant_ms)
    give_grant(
        tx,
        seen.expert,
        seen.operation,
        target,
        by=verdict.by,
        run_id=run_id,
        lasts_ms=lasts,
        only=_only(verdict.grant_only, json.loads(verdict.answer or seen.arguments)),
        approval_id=seen.id,
    )


def _only(names: Sequence[str], arguments: dict[str, Any]) -> dict[str, Any]:
    missing = [name for name in names if name not in arguments]
    if missing:
        there = ", ".join(map(repr, arguments)) or "none"
        raise UsageError(f"the call has no argument {missing[0]!r}", hint=f"its arguments are: {there}")
    return {name: arguments[name] for name in names}
