"""The service on an open database, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from colleague.agent.models.profile_report import ProfileDocument
from colleague.agent.prompt.workspace_files import file_problems
from colleague.clock import iso
from colleague.errors import ColleagueError
from colleague.experts.launch_acceptance import accept_one
from colleague.experts.runs.fork import planned_fork
from colleague.experts.runs.retry import drop_dead_letter, retry_run
from colleague.experts.workspace.restore import restore_file
from colleague.failpoints import failpoint
from colleague.person_document import ApprovalLink
from colleague.runtime.auth_profiles import AuthProfileControl
from colleague.runtime.decisions import decide_one
from colleague.runtime.local_admin import LocalAdmin
from colleague.runtime.local_expert_changes import LocalExpertChanges
from colleague.runtime.local_runs import LocalRuns, accepted_event
from colleague.runtime.local_sessions import LocalSessions
from colleague.runtime.requests import (
    AcceptedEvent,
    DecisionAnswer,
    DecisionRequest,
    ForkRequest,
    Refusal,
)
from colleague.store.accept import Accepted
from colleague.store.approvals import (
    AlreadyDecided,
    get_approval,
)
from colleague.store.audit import Change
from colleague.store.cancel import cancel
from colleague.store.canvases import remove_canvas
from colleague.store.cascade import end_stopped_children
from colleague.store.claims import retry_now
from colleague.store.grants import revoke_grant
from colleague.store.inbox import SendOutcome
from colleague.store.lookup import full_id
from colleague.store.people import new_approval_link
from colleague.store.run import get_run
from colleague.store.sql import select
from colleague.store.tables import approvals, grants, runs
from colleague.store.tx import Tx
from colleague.triggers.errors import BadPayload
from colleague.triggers.gmail.messages import gmail_payloads
from colleague.triggers.intake import arrival_of, fire
from colleague.triggers.pausing import pause, resume
from colleague.triggers.registry import BoundTrigger
from colleague.triggers.reminders import (
    agent_of,
    is_agent,
    pause_schedule,
    require_reminder,
    require_schedule,
    resume_schedule,
    run_now,
)


class LocalService(LocalRuns, LocalSessions, LocalAdmin, LocalExpertChanges):
    """Acts on an open database. What it changes wakes the worker by itself.

    Whatever sets a run going is refused under settings with a restriction that nothing enforces."""

    def whole(self) -> Self:
        return self

    async def decide(self, requests: Sequence[DecisionRequest]) -> list[DecisionAnswer]:
        self._require_enforced()
        return [await self._decide(request) for request in requests]

    async def _decide(self, request: DecisionRequest) -> DecisionAnswer:
        try:
            approval, grant = await self.database.write(
                lambda tx: decide_one(tx, self.home, request, self.origin)
            )
        except ColleagueError as error:
            refusal = Refusal(error.code, error.message, error.hint)
            now = await self.approval(request.approval) if isinstance(error, AlreadyDecided) else None
            return DecisionAnswer(request.approval, now, refusal=refusal)
        return DecisionAnswer(request.approval, approval, grant)

    async def fire(self, expert: str, trigger: str, payload: Any) -> AcceptedEvent:
        """Raises Inactive when the trigger is not active."""
        self._require_enforced()
        if is_agent(expert):
            return await self._run_reminder(expert, trigger)
        bound = self.registry.find(expert, trigger)
        bound.require_active()
        window = self.settings.experts.dedupe_window
        enriched = _enriched(bound, payload)
        await asyncio.to_thread(
            self._preflight.check_expert, bound.expert, bound.package, bound.process, "", dry_run=False
        )
        arrival = await asyncio.to_thread(
            arrival_of, self.home, bound, enriched, source=self.source, dedupe_window=window
        )
        return accepted_event(
            await self.database.write(lambda tx: self._begun(tx, "trigger.fire", fire(tx, arrival), arrival))
        )

    async def _run_reminder(self, owner: str, name: str) -> AcceptedEvent:
        def work(tx: Tx) -> SendOutcome:
            self._note(tx, Change("trigger.fire", name, owner))
            return run_now(tx, self.settings, require_reminder(tx, agent_of(owner), name))

        sent = await self.database.write(work)
        return AcceptedEvent(sent.event_id, sent.run_id, sent.duplicate)

    async def pause(self, expert: str, trigger: str, by: str) -> bool:
        bound = None if is_agent(expert) else self.registry.find(expert, trigger)

        def work(tx: Tx) -> bool:
            if bound is None:
                done = pause_schedule(tx, require_schedule(tx, expert, trigger), by)
            else:
                done = pause(tx, bound, by)
            if done:
                self._note(tx, Change("trigger.pause", trigger, expert), by)
            return done

        return await self.database.write(work)

    async def resume(self, expert: str, trigger: str) -> int | None:
        bound = None if is_agent(expert) else self.registry.find(expert, trigger)

        def work(tx: Tx) -> int | None:
            if bound is None:
                released = 0 if resume_schedule(tx, require_schedule(tx, expert, trigger)) else None
            else:
                released = resume(tx, self.home, bound)
            if released is not None:
                self._note(tx, Change("trigger.resume", trigger, expert, detail={"released": released}))
            return released

        return await self.database.write(work)

    async def cancel(self, run: str, reason: str) -> bool:
        def work(tx: Tx) -> bool:
            run_id = full_id(tx, runs, "run", run)
            done = cancel(tx, run_id, reason)
            if done:
                expert = get_run(tx, run_id).expert
                self._note(tx, Change("run.cancel", run_id, expert, run_id, {"note": reason}))
            return done

        done = await self.database.write(work)
        await end_stopped_children(self.database)
        return done

    async def retry(self, run: str, changes: dict[str, Any] | None = None) -> str:
        self._require_enforced()
        run_id = await self._run_id(run)
        found = await self.database.read(lambda tx: get_run(tx, run_id))
        change = Change("run.retry", run_id, found.expert, run_id, {"changed": sorted(changes or {})})
        await retry_run(self._audited(change), self.home, run_id, changes or {})
        return run_id

    async def fork(self, asked: ForkRequest) -> AcceptedEvent:
        self._require_enforced()
        run_id = await self._run_id(asked.run)
        found = await self.database.read(lambda tx: get_run(tx, run_id))
        wanted = (asked.from_step, self.origin.who, asked.model, asked.dry_run)
        fork = await asyncio.to_thread(planned_fork, self._preflight, found, *wanted)
        about = {"step": fork.step, "model": fork.model, "dry_run": fork.dry_run}

        def work(tx: Tx) -> Accepted:
            accepted = fork.start(tx, run_id)
            self._note(tx, Change("run.fork", run_id, found.expert, accepted.run_id, about))
            return accepted

        accepted = await self.database.write(work)
        failpoint("fork.accepted")
        return accepted_event(accepted)

    async def resume_run(self, run: str) -> bool:
        self._require_enforced()
        run_id = await self._run_id(run)

        def work(tx: Tx) -> bool:
            resumed = retry_now(tx, run_id)
            if resumed:
                self._note(tx, Change("run.resume", run_id, get_run(tx, run_id).expert, run_id))
            return resumed

        return await self.database.write(work)

    async def drop(self, run: str, by: str) -> None:
        def work(tx: Tx) -> None:
            run_id = full_id(tx, runs, "run", run)
            drop_dead_letter(tx, run_id, by)
            self._note(tx, Change("deadletter.drop", run_id, get_run(tx, run_id).expert, run_id), by)

        await self.database.write(work)

    async def restore(self, expert: str, file: str, version: int) -> dict[str, Any]:
        change = Change("state.restore", file, expert, detail={"version": version})
        return await restore_file(self.home, self.settings, self._audited(change), expert, file, version)

    async def accept_server(self, name: str, digest: str, by: str) -> None:
        await accept_one(self._audited(Change("server.accept", name), by), self.settings, name, digest, by)

    async def revoke(self, grant: str) -> None:
        def work(tx: Tx) -> None:
            grant_id = full_id(tx, grants, "grant", grant)
            revoke_grant(tx, grant_id)
            row = tx.one(select(grants.c.expert, grants.c.operation).where(grants.c.id == grant_id))
            expert, operation = (row.expert, row.operation) if row else ("", "")
            self._note(tx, Change("grant.revoke", grant_id, expert, detail={"operation": operation}))

        await self.database.write(work)

    async def remove_canvas(self, canvas: str) -> None:
        await self._audited(Change("canvas.remove", canvas)).write(lambda tx: remove_canvas(tx, canvas))

    def _profiles(self, change: Change | None = None) -> AuthProfileControl:
        database = self.database if change is None else self._audited(change)
        return AuthProfileControl(self.settings, self.environ, database)

    async def auth_profiles(self, agent: str) -> list[ProfileDocument]:
        return await self._profiles().documents(agent)

    async def order_auth_profiles(
        self, agent: str, provider: str, profiles: Sequence[str]
    ) -> list[ProfileDocument]:
        change = Change("auth.order", provider, detail={"agent": agent, "profiles": list(profiles)})
        await self._profiles(change).set_order(agent, provider, profiles)
        return [each for each in await self.auth_profiles(agent) if each["provider"] == provider]

    async def clear_cooldowns(self, profiles: Sequence[str]) -> list[str]:
        change = Change("auth.clear-cooldown", ", ".join(profiles))
        return await self._profiles(change).clear_cooldowns(profiles)

    async def forget_auth_profile(self, profile: str) -> None:
        await self._profiles(Change("auth.forget", profile)).forget(profile)

    async def approval_link(self, approval: str, person: str, lasts_ms: int) -> ApprovalLink:
        def work(tx: Tx) -> ApprovalLink:
            whole = full_id(tx, approvals, "approval", approval)
            secret = new_approval_link(tx, whole, person, lasts_ms)
            seen = get_approval(tx, whole)
            self._note(tx, Change("approval.link", whole, seen.expert, seen.run_id, {"for": person}))
            return {"approval": whole, "path": f"/approve/{secret}", "expires_at": iso(tx.now + lasts_ms)}

        return await self.database.write(work)

    async def problems(self) -> list[str]:
        found = [f"{name}: {why}" for name, why in sorted(self.registry.problems.items())]
        return found + await asyncio.to_thread(file_problems, self.settings)


def _enriched(bound: BoundTrigger, payload: Any) -> Any:
    """As the preset makes it of what comes from outside."""
    if bound.trigger.preset != "gmail":
        return payload
    payloads = gmail_payloads(payload)
    if len(payloads) != 1:
        raise BadPayload(f"there are {len(payloads)} messages in this payload", hint="fire one at a time")
    return payloads[0]
