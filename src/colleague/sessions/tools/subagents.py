"""subagents: what an agent sees of the sub-agents it spawned, and does with them."""

from __future__ import annotations

from dataclasses import dataclass

from colleague.agent.tool import NotSent, ToolOutput, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import parameters, text
from colleague.config import Settings
from colleague.session_key import SessionKey
from colleague.sessions.messages import SessionMessage, send_message
from colleague.store.cascade import end_session
from colleague.store.delegations import NewDelegation, add_delegation, get_delegation
from colleague.store.ids import short
from colleague.store.inbox import QueueRule
from colleague.store.lanes import lock_lane
from colleague.store.record import columns_of, record
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry, descendants
from colleague.store.spend import spent_by_run
from colleague.store.sql import select, update
from colleague.store.tables import delegations, is_open, runs
from colleague.store.tx import Database, Tx

RECENT_MS = 30 * 60_000
INTERRUPTING = QueueRule("interrupt", cap=1_000_000, drop="new")
KILLED = "killed by the agent that started it"


@dataclass(frozen=True)
class SubagentsTool:
    """A leaf only lists."""

    database: Database
    settings: Settings
    run: Run
    entry: SessionEntry
    only_lists: bool = False

    @property
    def spec(self) -> ToolSpec:
        actions = ["list"] if self.only_lists else ["list", "kill", "steer"]
        given = parameters(
            "action",
            action={"enum": actions},
            target=text("A label or key; for kill also all."),
            message=text("For steer: what it is to do instead."),
        )
        told = (
            "Your sub-agents: list those at work or done within 30 minutes, kill one with all that it "
            "started, or steer one with a new instruction; it keeps what it knows."
        )
        return ToolSpec("subagents", told, given, repeatable=True)

    async def call(self, request: ToolRequest) -> ToolOutput:
        action, target = request.arguments["action"], str(request.arguments.get("target", ""))
        if action == "list":
            return ToolOutput(await self.database.read(self._list), source="sessions")
        if not target:
            raise NotSent(f"{action} needs a target; list shows them")
        if action == "kill":
            return ToolOutput(await self._kill(target))
        message = str(request.arguments.get("message", "")).strip()
        if not message:
            raise NotSent("steer needs a message")
        return ToolOutput(await self.database.write(lambda tx: self._steer(tx, request, target, message)))

    def _list(self, tx: Tx) -> str:
        lines = [line for each in descendants(tx, self.entry.key) for line in _lines(tx, each)]
        return "\n".join(lines) or "none at work, and none that ended within 30 minutes"

    async def _kill(self, target: str) -> str:
        """Parents first, each in a transaction of its own: what they could still start is found later."""
        ended: list[str] = []
        wanted = await self.database.read(lambda tx: [each.key for each in self._targets(tx, target)])
        while wanted:
            key = wanted.pop(0)
            ended += await self.database.write(lambda tx, key=key: _end(tx, key))  # type: ignore[misc]
            below = await self.database.read(lambda tx, key=key: descendants(tx, key))  # type: ignore[misc]
            wanted += [each.key for each in below if each.key not in wanted]
        return f"ended: {', '.join(ended)}" if ended else "nothing of it was at work"

    def _targets(self, tx: Tx, target: str) -> list[SessionEntry]:
        known = descendants(tx, self.entry.key)
        if target == "all":
            return known
        found = [
            each for each in known if target in (each.key, each.label) or each.key.endswith(f":{target}")
        ]
        if not found:
            raise NotSent(f"there is no sub-agent {target!r} of yours; list shows them")
        return found

    def _steer(self, tx: Tx, request: ToolRequest, target: str, message: str) -> str:
        """Ends what it is doing and begins anew with the instruction, in the same transcript."""
        key = SessionKey.parse(self._targets(tx, target)[0].key)
        lock_lane(tx, str(key))
        open_ones = (delegations.c.child_session == str(key), delegations.c.ended_at.is_(None))
        moved = [row.call_id for row in tx.all(select(delegations.c.call_id).where(*open_ones))]
        tx.execute(update(delegations).where(*open_ones).values(child_run=None))
        said = SessionMessage(
            message,
            source="session",
            sender={"id": self.entry.key},
            dedupe_key=request.key,
            parent_run=self.run.id,
        )
        sent = send_message(tx, self.settings, key, said, INTERRUPTING)
        these = delegations.c.call_id.in_(moved)
        tx.execute(update(delegations).where(these).values(child_run=sent.run_id, child_event=sent.event_id))
        if not moved and get_delegation(tx, request.call_id) is None:
            new = NewDelegation(request.call_id, self.run, str(key), sent.event_id, sent.run_id)
            add_delegation(tx, new)
        return f"{key} begins anew with this; what it comes to reaches you as a new turn"


def _lines(tx: Tx, entry: SessionEntry) -> list[str]:
    """The runs of a session that are under way, or ended a short while ago."""
    recent = is_open() | (runs.c.ended_at >= tx.now - RECENT_MS)
    query = select(*columns_of(Run, runs)).where(runs.c.session_key == entry.key, recent)
    found = [record(Run, row) for row in tx.all(query.order_by(runs.c.id.desc()).limit(1))]
    return [_line(tx, entry, run) for run in found]


def _line(tx: Tx, entry: SessionEntry, run: Run) -> str:
    used = spent_by_run(tx, run.id)
    seconds = ((run.ended_at or tx.now) - (run.started_at or tx.now)) // 1000
    named = f" ({entry.label})" if entry.label else ""
    model = run.model or "default model"
    state = run.outcome or run.status
    return f"{entry.key}{named}: {state}, run {short(run.id)}, {model}, {seconds} s, {used.tokens} tokens"


def _end(tx: Tx, key: str) -> list[str]:
    """Whoever killed it is not told of its end."""
    lock_lane(tx, key)
    return [key] if end_session(tx, key, KILLED) else []
