"""sessions_spawn: a sub-agent with a session of its own, which tells its parent when it is done."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from colleague.agent.tool import DelegatingTool, Handover, NotSent, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import parameters
from colleague.agent.turn_inputs import TurnInputs
from colleague.config import Settings
from colleague.config.agents import NEAREST_LEVEL, Subagents
from colleague.errors import ColleagueError, NotFound
from colleague.sandbox.session_sandbox import is_sandboxed
from colleague.session_key import SessionKey
from colleague.session_label import parse_label
from colleague.sessions.changes import model_columns
from colleague.sessions.envelope import envelope
from colleague.sessions.messages import SessionMessage, send_message
from colleague.sessions.threads import ThreadOpener, thread_columns
from colleague.sessions.tools.send import EACH_BY_ITSELF
from colleague.store.delegations import GOES_ON, NewDelegation, add_delegation
from colleague.store.ids import new_id
from colleague.store.journal import DELEGATION
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry, children_at_work, key_of_label, open_session
from colleague.store.tx import Database, Tx

_TEXT = {"type": "string", "minLength": 1}
_PROPERTIES: dict[str, Any] = {
    "task": _TEXT | {"description": "What it is to do, complete in itself."},
    "label": _TEXT | {"maxLength": 64, "description": "A name by which to find it again."},
    "agentId": _TEXT | {"description": "Another agent of agents.list; agents_list shows which."},
    "model": _TEXT | {"description": "Its model, as provider/model."},
    "thinking": _TEXT | {"description": "Its thinking level."},
    "thread": {"type": "boolean", "description": "Whether it gets a thread of its own on the channel."},
    "mode": {"enum": ["run", "session"], "description": "session: it is kept to be talked to again."},
    "context": {"enum": ["isolated", "fork"], "description": "fork: it knows this conversation."},
    "runTimeoutSeconds": {"type": "number", "minimum": 0, "description": "Seconds of work; 0 is no limit."},
    "expectsCompletionMessage": {"type": "boolean", "description": "false: you are not told of its end."},
    "cleanup": {"enum": ["keep", "delete"], "description": "delete: its session goes when you were told."},
}


@dataclass(frozen=True)
class SessionsSpawnTool(DelegatingTool):
    """Never waits: the result comes as a turn of its own."""

    database: Database
    settings: Settings
    run: Run
    entry: SessionEntry
    threads: ThreadOpener | None = None

    @property
    def spec(self) -> ToolSpec:
        text = (
            "Start a sub-agent on a task, in a session of its own. You go on at once; what it came to "
            "reaches you as a new turn. It does not know what you have read: name what it is to read first."
        )
        return ToolSpec("sessions_spawn", text, parameters("task", **_PROPERTIES), server_tool=DELEGATION)

    @property
    def _rules(self) -> Subagents:
        return self.settings.agents.defaults.subagents

    async def handover(self, request: ToolRequest) -> Handover:
        given = request.arguments
        agent = self._agent(given)
        label = self._label(given)
        self._require_possible(given)
        key = SessionKey.for_subagent(new_id(), agent=agent)
        message = self._message(given, await self._text(given))
        place = await self._thread(given, label, request.key)

        def start(tx: Tx) -> str | None:
            self._require_room(tx, label)
            origin = json.dumps(self._origin(given, label, place), ensure_ascii=False)
            known = {"spawned_by": self.entry.key, "spawn_depth": self.entry.spawn_depth + 1}
            chosen = {**model_columns(message.model or None), "thinking_level": message.thinking or None}
            bound = thread_columns(place) if place else {}
            open_session(tx, str(key), agent, label=label, origin=origin, **known, **chosen, **bound)
            sent = send_message(tx, self.settings, key, message, EACH_BY_ITSELF)
            if sent.queued == "denied":
                raise NotSent("the send policy of this home denies messages to sub-agents")
            add_delegation(
                tx,
                NewDelegation(
                    request.call_id,
                    self.run,
                    str(key),
                    sent.event_id,
                    sent.run_id,
                    announces=given.get("expectsCompletionMessage", True),
                    cleanup=given.get("cleanup", "keep"),
                ),
            )
            return self._answer(key, label, given)

        return Handover(str(key), start)

    def _answer(self, key: SessionKey, label: str | None, given: dict[str, Any]) -> str:
        named = f" ({label})" if label else ""
        told = given.get("expectsCompletionMessage", True)
        if given.get("mode") == "session":
            named += ", which stays: sessions_send reaches it by its " + ("label" if label else "key")
        return f"Started {key}{named}. {GOES_ON if told else 'You are not told of its end.'}"

    def _agent(self, given: dict[str, Any]) -> str:
        wanted, own = given.get("agentId"), self.entry.agent_id
        if wanted is None and self._rules.require_agent_id:
            raise NotSent("sessions_spawn needs an agentId here; agents_list shows which there are")
        if wanted is None or wanted == own:
            return own
        allowed = self._rules.allow_agents
        if wanted not in allowed and "*" not in allowed:
            raise NotSent(f"this agent may not spawn {wanted!r}; agents_list shows those that it may")
        try:
            self.settings.for_agent(str(wanted))
        except NotFound as error:
            raise NotSent(f"{error.message} ({error.hint})") from None
        self._require_sandbox(str(wanted))
        return str(wanted)

    def _require_sandbox(self, agent: str) -> None:
        """Nobody leaves a sandbox by having somebody outside do it."""
        child = str(SessionKey.for_subagent(new_id(), agent=agent))
        if is_sandboxed(self.settings, self.entry.key) and not is_sandboxed(self.settings, child):
            raise NotSent(
                f"this session runs in a sandbox and {agent!r} would not; spawn one of your own, or an agent "
                "whose sandbox.mode covers it"
            )

    def _label(self, given: dict[str, Any]) -> str | None:
        try:
            return parse_label(given["label"]) if "label" in given else None
        except ColleagueError as error:
            raise NotSent(error.message) from None

    def _require_possible(self, given: dict[str, Any]) -> None:
        if given.get("mode") == "session" and given.get("cleanup") == "delete":
            raise NotSent("mode session keeps it and cleanup delete does not; leave one of them out")
        if self.entry.spawn_depth >= self._rules.max_spawn_depth:
            depth = self._rules.max_spawn_depth
            raise NotSent(f"sub-agents may be {depth} deep and this is one; do the task yourself")

    def _require_room(self, tx: Tx, label: str | None) -> None:
        most = self._rules.max_children_per_agent
        if children_at_work(tx, self.entry.key) >= most:
            raise NotSent(f"{most} sub-agents of this session are at work already; wait for one of them")
        if label is not None and (taken := key_of_label(tx, label)):
            raise NotSent(f"the label {label!r} belongs to {taken} already; choose another, or leave it out")

    async def _text(self, given: dict[str, Any]) -> str:
        task = str(given["task"])
        if given.get("context") != "fork":
            return task
        return await self.database.read(lambda tx: envelope(tx, task, self.entry))

    async def _thread(self, given: dict[str, Any], label: str | None, key: str) -> dict[str, str]:
        """A new thread of the chat that this turn is in, which is then the child's own; empty for none. It is
        opened before anything is stored: the channel knows a repeat by its key."""
        if not given.get("thread"):
            return {}
        await self.database.read(lambda tx: self._require_room(tx, label))
        if self.threads is None:
            raise NotSent("no channel here can open a thread; spawn it without thread")
        here = TurnInputs.of(self.run).place or json.loads(self.entry.origin or "{}")
        return await self.threads.open_thread(self.entry, here, label or str(given["task"]), key)

    def _origin(self, given: dict[str, Any], label: str | None, place: dict[str, str]) -> dict[str, Any]:
        """What the child's prompt says of why it is there."""
        fork = {"transcript": self.run.transcript, "before": self.run.seq}
        return {
            "task": given["task"],
            "label": label,
            "requester": self.entry.key,
            "mode": given.get("mode", "run"),
            "fork": fork if given.get("context") == "fork" else None,
            "place": place or None,
            "announces": given.get("expectsCompletionMessage", True),
        }

    def _message(self, given: dict[str, Any], text: str) -> SessionMessage:
        rules = self._rules
        level = given.get("thinking") or rules.thinking or ""
        if level and level not in NEAREST_LEVEL:
            raise NotSent(f"there is no thinking level {level!r}; there are: {', '.join(NEAREST_LEVEL)}")
        return SessionMessage(
            text,
            source="session",
            sender={"id": self.entry.key},
            model=given.get("model") or (rules.model.primary if rules.model else "") or "",
            thinking=level,
            timeout_seconds=given.get("runTimeoutSeconds") or rules.run_timeout_seconds or None,
            queue_mode="queue",
            parent_run=self.run.id,
        )
