"""The tool with which an agent plans its own reminders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from colleague.agent.tool import Tool, ToolOutput, ToolRequest, ToolSpec, refused
from colleague.agent.tools.arguments import Arguments, parameters, text
from colleague.clock import iso
from colleague.config import Settings
from colleague.errors import ColleagueError, UsageError
from colleague.session_key import SessionKey
from colleague.sessions.messages import find_key
from colleague.store.reminders import Kind, Reminder, reminders_of
from colleague.store.run import Run
from colleague.store.schedules import TriggerState, trigger_states
from colleague.store.session_entry import SessionEntry
from colleague.store.tx import Database, Tx
from colleague.time_zone import user_zone
from colleague.triggers.reminders import (
    MOST_PER_AGENT,
    Plan,
    pause_schedule,
    plan,
    remove,
    require_reminder,
    resume_schedule,
    run_now,
)

ACTIONS = ("add", "list", "pause", "resume", "remove", "run")
_DESCRIPTION = (
    "Plans your own reminders: at the time, the message comes into the session as a new turn. add takes a "
    "message and one of schedule (a cron expression), at (an ISO time) or every (a duration such as 30m or "
    "1d); list, pause, resume, remove and run (now, once) work on what was added. Times without an offset "
    "are meant in tz, which is {zone} when not given. At most once each minute, and at most {most} reminders."
)
_PARAMETERS = parameters(
    "action",
    action={"type": "string", "enum": list(ACTIONS), "description": "What to do."},
    name=text("The reminder, by its name or label; for pause, resume, remove and run"),
    message=text("What you are told then. Write all that is needed: it may come weeks later"),
    schedule=text("A cron expression such as 0 9 * * 1-5"),
    at=text("Once, at this ISO time such as 2026-03-01T09:00"),
    every=text("Again and again, such as 2h"),
    tz=text("An IANA time zone such as Europe/Berlin"),
    label=text("A short name by which it is listed"),
    session=text("Key or label of another session of yours that is told; this one when not given"),
)


@dataclass(frozen=True)
class CronTools:
    """Gives `cron` to the agents that people talk to. Sub-agents end before anything is due."""

    database: Database

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:  # noqa: ARG002
        if SessionKey.parse(entry.key).is_subagent:
            return ()
        return (CronTool(self.database, settings, entry),)


@dataclass(frozen=True)
class CronTool:
    """`cron`: reminders of one agent."""

    database: Database
    settings: Settings
    entry: SessionEntry

    @cached_property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="cron",
            description=_DESCRIPTION.format(zone=self._zone, most=MOST_PER_AGENT),
            parameters=_PARAMETERS,
            repeatable=True,
            told=True,
        )

    @property
    def _zone(self) -> str:
        return user_zone(self.settings.agents.defaults.user_timezone).key

    async def call(self, request: ToolRequest) -> ToolOutput:
        try:
            arguments = Arguments.of(self.spec, request.arguments)
            return ToolOutput(await self.database.write(lambda tx: self._act(tx, arguments, request)))
        except ColleagueError as error:
            return refused(error)

    def _act(self, tx: Tx, arguments: Arguments, request: ToolRequest) -> str:
        action = arguments.text("action")
        if action == "list":
            return self._listed(tx)
        if action == "add":
            made = plan(tx, self._plan(tx, arguments), request.key)
            return f"Planned as {made.name!r}, next at {iso(made.next_at)}."
        if action not in ACTIONS:
            raise UsageError(f"there is no action {action!r}", hint=f"one of: {', '.join(ACTIONS)}")
        found = require_reminder(tx, self.entry.agent_id, arguments.text("name"))
        return self._change(tx, action, found, request)

    def _change(self, tx: Tx, action: str, found: Reminder, request: ToolRequest) -> str:
        if action == "pause":
            done = pause_schedule(tx, found.key, self.entry.key)
            return f"{found.name!r} is paused." if done else f"{found.name!r} was paused already."
        if action == "resume":
            done = resume_schedule(tx, found.key)
            return f"{found.name!r} goes on." if done else f"{found.name!r} was not paused."
        if action == "remove":
            remove(tx, found)
            return f"{found.name!r} is removed."
        sent = run_now(tx, self.settings, found, request.key)
        return f"{found.name!r} is said in {found.session_key} now ({sent.queued})."

    def _plan(self, tx: Tx, arguments: Arguments) -> Plan:
        kind, schedule = _schedule(arguments)
        return Plan(
            agent_id=self.entry.agent_id,
            session_key=self._session(tx, arguments.text("session", "")),
            message=arguments.text("message", ""),
            kind=kind,
            schedule=schedule,
            zone=arguments.text("tz", "").strip() or self._zone,
            label=arguments.text("label", ""),
        )

    def _session(self, tx: Tx, name: str) -> str:
        if not name.strip():
            return self.entry.key
        key = find_key(tx, name.strip())
        if key.agent_id != self.entry.agent_id:
            raise UsageError(f"{key} is a session of another agent", hint="plan it in a session of yours")
        if key.kind not in ("main", "chat"):
            raise UsageError(f"{key} cannot be reminded", hint="use the main session or a chat")
        return str(key)

    def _listed(self, tx: Tx) -> str:
        states = trigger_states(tx)
        found = [_line(each, states.get(each.key)) for each in reminders_of(tx, self.entry.agent_id)]
        return json.dumps(found, ensure_ascii=False, indent=1) if found else "There are no reminders."


def _schedule(arguments: Arguments) -> tuple[Kind, str]:
    """Exactly one of the three. Raises UsageError."""
    names: dict[str, Kind] = {"schedule": "cron", "at": "at", "every": "every"}
    given = [(kind, arguments.text(name, "").strip()) for name, kind in names.items()]
    given = [each for each in given if each[1]]
    if len(given) != 1:
        raise UsageError(f"{len(given)} times are given", hint="give one of schedule, at and every")
    return given[0]


def _line(reminder: Reminder, state: TriggerState | None) -> dict[str, Any]:
    paused = state is not None and state.paused_at is not None
    last = iso(state.last_slot) if state else None
    when = f"{reminder.kind} {reminder.schedule} ({reminder.zone})"
    return {
        "name": reminder.name,
        "when": when,
        "next_at": None if paused else iso(reminder.next_at),
        "last_at": last,
        "paused": paused,
        "session": reminder.session_key,
        "message": reminder.message,
    }
