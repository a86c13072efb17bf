"""sessions_send: handing work to another session, or to an expert."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from colleague.agent.tool import DelegatingTool, Handover, NotSent, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import parameters
from colleague.config import Settings
from colleague.errors import ColleagueError
from colleague.session_key import SessionKey
from colleague.session_label import labelled_expert
from colleague.sessions.envelope import envelope
from colleague.sessions.expert_sessions import ExpertSessions
from colleague.sessions.messages import SessionMessage, send_message
from colleague.sessions.scope import SessionScope, key_of
from colleague.silent_answer import REPLY_SKIP
from colleague.store.delegations import (
    GOES_ON,
    NewDelegation,
    add_delegation,
    asked_by,
    blocked_reason,
    sends_in_a_row,
    waits_for,
)
from colleague.store.inbox import QueueRule, SendOutcome, send
from colleague.store.journal import DELEGATION
from colleague.store.run import Run, get_run
from colleague.store.session_entry import SessionEntry, find_session, open_session
from colleague.store.tx import Database, Tx

DEFAULT_SECONDS = 120
MAY_SKIP = f"[When nothing is to be said to this, answer {REPLY_SKIP}.]"
EACH_BY_ITSELF = QueueRule("queue", cap=1_000_000, drop="new")
_TEXT = {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class SessionsSendTool(DelegatingTool):
    """Waits for the answer for a while; what takes longer comes as a turn of its own."""

    database: Database
    settings: Settings
    run: Run
    entry: SessionEntry
    experts: ExpertSessions

    @property
    def spec(self) -> ToolSpec:
        given = parameters(
            "message",
            label=_TEXT | {"description": "The label of a session, or expert:<name> for an expert."},
            sessionKey=_TEXT | {"description": "The key of a session, instead of its label."},
            message=_TEXT | {"description": "What is to be done, complete in itself."},
            timeoutSeconds={
                "type": "number",
                "minimum": 0,
                "maximum": 86_400,
                "description": f"Seconds of work to wait for the answer ({DEFAULT_SECONDS}); 0: do not.",
            },
        )
        text = (
            "Hand a task to another session, or to an expert (label expert:<name>, see EXPERTS.md), and get "
            "its answer. It knows nothing of this conversation but its last messages."
        )
        return ToolSpec("sessions_send", text, given, server_tool=DELEGATION)

    async def handover(self, request: ToolRequest) -> Handover:
        given = request.arguments
        name = given.get("label") or given.get("sessionKey")
        if not name or ("label" in given and "sessionKey" in given):
            raise NotSent("sessions_send takes either a label or a sessionKey; give one of them")
        key = await self.database.read(lambda tx: key_of(tx, str(name)))
        expert = key.expert or labelled_expert(str(name))
        wait_ms = round(float(given.get("timeoutSeconds", DEFAULT_SECONDS)) * 1000)
        if expert:
            return await self._to_expert(request, expert, wait_ms)
        return await self._to_session(request, key, wait_ms)

    async def _to_expert(self, request: ToolRequest, expert: str, wait_ms: int) -> Handover:
        text = await self._envelope(request)
        try:
            said = await asyncio.to_thread(
                self.experts.task, expert, self.entry.agent_id, text, source="session", delegated=True
            )
        except ColleagueError as error:
            there = ", ".join(await asyncio.to_thread(self.experts.names)) or "none"
            raise NotSent(f"{error.message} ({error.hint or f'experts: {there}'})") from None
        said = replace(said, arrival=replace(said.arrival, parent_run=self.run.id))

        def store(tx: Tx) -> SendOutcome:
            return send(tx, said, EACH_BY_ITSELF)

        return self._handover(request, SessionKey.parse(said.arrival.session_key), wait_ms, store)

    async def _to_session(self, request: ToolRequest, key: SessionKey, wait_ms: int) -> Handover:
        scope = SessionScope(self.entry, self.settings)
        if str(key) != self.entry.key:
            await self.database.read(lambda tx: scope.find(tx, str(key)))
        text = f"{await self._envelope(request)}\n\n{MAY_SKIP}"
        message = SessionMessage(
            text, source="session", sender={"id": self.entry.key}, queue_mode="queue", parent_run=self.run.id
        )
        return self._handover(
            request, key, wait_ms, lambda tx: send_message(tx, self.settings, key, message, EACH_BY_ITSELF)
        )

    def _require_turns(self, tx: Tx, key: SessionKey) -> None:
        """Two agents do not talk to each other for ever. An expert is asked as often as it is needed."""
        most = self.settings.session.agent_to_agent.max_ping_pong_turns
        if not key.is_of_expert and sends_in_a_row(tx, self.run, str(key)) > most:
            raise NotSent(
                f"you have answered {key} {most} times in a row; tell the person what came of it, and go on "
                "when they say so"
            )

    async def _envelope(self, request: ToolRequest) -> str:
        task = str(request.arguments["message"])
        return await self.database.read(lambda tx: envelope(tx, task, self.entry))

    def _handover(
        self, request: ToolRequest, key: SessionKey, wait_ms: int, store: Callable[[Tx], SendOutcome]
    ) -> Handover:
        child = str(key)

        def start(tx: Tx) -> str | None:
            require_no_circle(tx, self.run, child)
            self._require_turns(tx, key)
            open_session(tx, child, key.agent_id, **self._spawned(tx, key))
            sent = store(tx)
            if sent.queued in ("denied", "dropped"):
                raise NotSent(f"{child} takes no message now: {sent.queued}")
            blocked = blocked_reason(tx, get_run(tx, sent.run_id)) if sent.run_id else None
            waits = 0 if blocked else wait_ms
            new = NewDelegation(request.call_id, self.run, child, sent.event_id, sent.run_id, waits)
            return None if add_delegation(tx, new) else " ".join(filter(None, (blocked, GOES_ON)))

        return Handover(child, start)

    def _spawned(self, tx: Tx, key: SessionKey) -> dict[str, Any]:
        """A session that is made for this task belongs to the one that asked."""
        if find_session(tx, str(key)) is not None or key.kind != "expert_process":
            return {}
        return {"spawned_by": self.entry.key, "spawn_depth": self.entry.spawn_depth + 1}


def require_no_circle(tx: Tx, run: Run, child: str) -> None:
    """Raises NotSent when the other session waits for this one, or has asked for this very work."""
    if child == run.session_key:
        raise NotSent("this is your own session; say it in your answer instead of sending it to yourself")
    if child in asked_by(tx, run):
        raise NotSent(f"{child} has asked you for this work; your answer goes back to it by itself")
    if waits_for(tx, child, run.session_key):
        raise NotSent(f"{child} waits for your answer; say in it what you would send")
