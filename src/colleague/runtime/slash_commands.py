"""What people type at a session with a slash in front is done here, wherever they type it. What only shows
something is left to the place where it is shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colleague.errors import UsageError
from colleague.runtime.requests import DecisionRequest
from colleague.session_key import SessionKey
from colleague.session_text import model_text, stopped_text
from colleague.sessions.slash_command import (
    Command,
    Compact,
    Decide,
    ListExperts,
    ListSessions,
    NewSession,
    Option,
    SetOption,
    SetQueue,
    ShowOption,
    StopTurn,
)

if TYPE_CHECKING:
    from colleague.home import Home
    from colleague.runtime.requests import DecisionAnswer
    from colleague.runtime.service import Service
    from colleague.session_document import SessionDocument

FROM_SETTINGS = "as in the settings"
_FIELDS: Mapping[Option, str] = {
    "thinking": "thinking_level",
    "reasoning": "reasoning_level",
    "verbose": "verbose_level",
    "send_policy": "send_policy",
    "queue_mode": "queue_mode",
}
Decider = Callable[[DecisionRequest], Awaitable["DecisionAnswer"]]


@dataclass(frozen=True)
class SlashReply:
    """What a command did, and what follows from it."""

    text: str = ""
    changed: bool = False
    """Whether the text says what is different now."""
    begun: bool = False
    """Whether a new conversation has begun."""
    message: str = ""
    """To be sent now."""
    session: str = ""
    """The session to go on in."""
    decided: DecisionAnswer | None = None


@dataclass(frozen=True)
class SlashCommands:
    """For one session. Raises ColleagueError with a sentence."""

    service: Service
    home: Home
    key: str
    by: str
    decide: Decider

    async def run(self, command: Command) -> SlashReply | None:
        """None for a command that only shows something."""
        match command:
            case NewSession(message):
                await self.service.reset_session(self.key, self.by)
                return SlashReply(begun=True, message=message)
            case StopTurn():
                return SlashReply(stopped_text(await self.service.stop_session(self.key, self.by)))
            case Decide(decision, approval, note):
                return await self._decide(DecisionRequest(approval, decision, self.by, note=note))
            case ShowOption(option):
                return SlashReply(_option_text(option, _value(await self._session(self.key), option)))
            case SetOption(option, value):
                return await self._set(option, value)
            case SetQueue():
                return await self._set("queue_mode", _only_mode(command))
            case Compact(instructions):
                return SlashReply(message=f"/compact {instructions}".strip())
            case ListExperts(expert) if expert:
                return SlashReply(session=self._session_with(expert))
            case ListSessions(session) if session:
                return SlashReply(session=(await self._session(session))["key"])
        return None

    async def _session(self, name: str) -> SessionDocument:
        return await self.service.session(name)

    async def _set(self, option: Option, value: str | None) -> SlashReply:
        changes: dict[str, Any] = {option: value}
        await self.service.change_session(self.key, changes)
        return SlashReply(_option_text(option, value), changed=True)

    async def _decide(self, request: DecisionRequest) -> SlashReply:
        answer = await self.decide(request)
        if answer.refusal is not None:
            raise UsageError(answer.refusal.message, hint=answer.refusal.hint)
        if answer.approval is None:
            raise UsageError("nothing was decided")
        return SlashReply(decided=answer)

    def _session_with(self, expert: str) -> str:
        from colleague.experts.expert import find_expert

        return str(SessionKey.for_expert(find_expert(self.home, expert).name))


def _only_mode(command: SetQueue) -> str | None:
    if any(each is not None for each in (command.debounce_ms, command.cap, command.drop)):
        raise UsageError(
            "debounce, cap and drop hold for all sessions",
            hint="set them in the settings: messages.queue (debounceMs, cap, drop)",
        )
    return command.mode


def _option_text(option: Option, value: str | None) -> str:
    return f"{option.replace('_', ' ')}: {value or FROM_SETTINGS}"


def _value(session: SessionDocument, option: Option) -> str:
    entry: Mapping[str, Any] = session
    return model_text(session) if option == "model" else str(entry[_FIELDS[option]] or "")
