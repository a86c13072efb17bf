"""Commands that a person types on the page with a slash in front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from colleague.errors import UsageError
from colleague.experts.expert import find_expert, usable_experts
from colleague.gateway.api.approvals import decide_in
from colleague.gateway.gateway import Gateway
from colleague.gateway.page.chat.notice import Notice
from colleague.gateway.page.chat.tree import session_path
from colleague.gateway.page.visitor import Visitor
from colleague.gateway.schemas import DecisionAsked
from colleague.session_document import SessionDocument
from colleague.session_key import SessionKey
from colleague.session_text import model_text, set_lines, shown_context, status_text, stopped_text
from colleague.sessions.slash_command import (
    Command,
    Compact,
    Decide,
    Help,
    LeaveChat,
    ListExperts,
    ListSessions,
    NewSession,
    SetOption,
    SetQueue,
    ShowContext,
    ShowOption,
    ShowStatus,
    StopTurn,
    help_text,
)

_FIELDS: Mapping[str, str] = {
    "thinking": "thinking_level",
    "reasoning": "reasoning_level",
    "verbose": "verbose_level",
    "send_policy": "send_policy",
    "queue_mode": "queue_mode",
}
FROM_SETTINGS = "as in the settings"


@dataclass(frozen=True)
class CommandAnswer:
    """What a command says; `message` is to be sent now."""

    notice: Notice
    message: str = ""


@dataclass(frozen=True)
class PageCommands:
    """For one session. Raises ColleagueError with a sentence."""

    here: Gateway
    visitor: Visitor
    key: str

    async def run(self, command: Command) -> CommandAnswer:
        match command:
            case NewSession(message):
                await self.here.service.reset_session(self.key, self.visitor.name)
                return CommandAnswer(Notice(goes_to=session_path(self.key)), message)
            case Compact(instructions):
                return CommandAnswer(Notice(), f"/compact {instructions}".strip())
            case ListExperts() | ListSessions():
                return CommandAnswer(await self._go(command))
        return CommandAnswer(Notice(await self._lines(command)))

    async def _lines(self, command: Command) -> list[str]:
        match command:
            case StopTurn():
                return [stopped_text(await self.here.service.stop_session(self.key, self.visitor.name))]
            case Decide(decision, approval, note):
                return [await self._decide(decision, approval, note)]
            case Help(name):
                return help_text(name).splitlines()
            case ShowOption() | SetOption() | SetQueue():
                return [await self._option(command)]
            case ShowContext():
                return shown_context(await self.here.service.session(self.key))
            case ShowStatus():
                session = await self.here.service.session(self.key)
                return [f"{session['key']}: {status_text(session)}", *set_lines(session)[1:]]
        return ["Close the page to leave; the conversation stays."] if isinstance(command, LeaveChat) else []

    async def _go(self, command: ListExperts | ListSessions) -> Notice:
        """To the session of a name, or to the list."""
        if isinstance(command, ListSessions):
            session = await self.here.service.session(command.session) if command.session else None
            return Notice(goes_to=session_path(session["key"]) if session else "/chat/sessions")
        if not command.expert:
            names = [each.name for each in usable_experts(self.here.home)]
            return Notice(names or ["There are no experts."])
        key = str(SessionKey.for_expert(find_expert(self.here.home, command.expert).name))
        await self.here.service.change_session(key, {})
        return Notice(goes_to=session_path(key))

    async def _option(self, command: ShowOption | SetOption | SetQueue) -> str:
        if isinstance(command, ShowOption):
            session = await self.here.service.session(self.key)
            return f"{_name(command.option)}: {_value(session, command.option) or FROM_SETTINGS}"
        if isinstance(command, SetQueue):
            if any(each is not None for each in (command.debounce_ms, command.cap, command.drop)):
                raise UsageError(
                    "debounce, cap and drop hold for all sessions",
                    hint="set them in the settings: messages.queue (debounceMs, cap, drop)",
                )
            command = SetOption("queue_mode", command.mode)
        changes: dict[str, Any] = {command.option: command.value}
        await self.here.service.change_session(self.key, changes)
        return f"{_name(command.option)}: {command.value or FROM_SETTINGS}"

    async def _decide(self, decision: str, approval: str, note: str) -> str:
        seen = await self.here.service.approval(approval)
        self.visitor.require_decider(seen["expert"])
        asked = DecisionAsked.model_validate(
            {"decision": decision, "digest": seen["digest"], "by": self.visitor.name, "note": note}
        )
        said = await decide_in(self.here, seen["id"], asked)
        if said.refusal is not None:
            raise UsageError(said.refusal.message, hint=said.refusal.hint)
        return f"{seen['operation']}: {decision} by {self.visitor.name}"


def _name(option: str) -> str:
    return option.replace("_", " ")


def _value(session: SessionDocument, option: str) -> str:
    entry: Mapping[str, Any] = session
    return model_text(session) if option == "model" else str(entry[_FIELDS[option]] or "")
