"""Carrying out what a person types with a slash in front."""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from colleague.cli.approval_view import commands as decide_commands
from colleague.cli.approval_view import summary
from colleague.cli.decide import WHAT_IT_DID
from colleague.cli.output import TICK, plain
from colleague.cli.session_view import context_lines, usage_lines
from colleague.errors import UsageError
from colleague.run_document import short
from colleague.runtime.requests import DecisionRequest, decided_runs
from colleague.session_key import SessionKey
from colleague.session_text import model_text, set_lines, status_text, stopped_text
from colleague.sessions.slash_command import (
    Command,
    Compact,
    Decide,
    Help,
    LeaveChat,
    ListExperts,
    ListSessions,
    NewSession,
    Option,
    SetOption,
    SetQueue,
    ShowContext,
    ShowOption,
    ShowStatus,
    StopTurn,
    help_text,
)

if TYPE_CHECKING:
    from colleague.cli.chat.questions import Questions
    from colleague.home import Home
    from colleague.runtime.service import Service
    from colleague.session_document import SessionDocument

_FIELDS: Mapping[Option, str] = {
    "thinking": "thinking_level",
    "reasoning": "reasoning_level",
    "verbose": "verbose_level",
    "send_policy": "send_policy",
    "queue_mode": "queue_mode",
}


@dataclass(frozen=True)
class SlashReply:
    """What a command says, and what follows from it."""

    lines: Sequence[str] = ()
    message: str = ""
    """To be sent now."""
    runs: Sequence[str] = ()
    """Runs that go on because of it."""
    session: str = ""
    """The session to go on in."""
    leaves: bool = False


@dataclass(frozen=True)
class SlashCommands:
    """For one session. Raises ColleagueError with a sentence."""

    service: Service
    home: Home
    key: str
    questions: Questions
    by: str = field(default_factory=getpass.getuser)

    async def run(self, command: Command) -> SlashReply:
        match command:
            case NewSession(message):
                await self.service.reset_session(self.key, self.by)
                return SlashReply([f"{TICK} a new conversation; the one before is archived"], message)
            case StopTurn():
                return SlashReply([stopped_text(await self.service.stop_session(self.key, self.by))])
            case Decide(decision, approval, note):
                return await self._decide(DecisionRequest(approval, decision, self.by, note=note))
            case ListExperts(expert):
                return self._experts(expert)
            case ListSessions(session):
                return await self._sessions(session)
            case LeaveChat():
                return SlashReply(leaves=True)
            case Help(name):
                return SlashReply(help_text(name, width=_width()).splitlines())
            case ShowOption() | SetOption() | SetQueue():
                return SlashReply(await self._option(command))
            case Compact(instructions):
                return SlashReply(message=f"/compact {instructions}".strip())
            case ShowContext():
                return SlashReply(context_lines(await self.service.session(self.key)))
            case ShowStatus():
                return SlashReply(await self._status(await self.service.session(self.key)))

    async def _status(self, session: SessionDocument) -> list[str]:
        _, *chosen = set_lines(session)
        waiting = [
            f"  {short(each['id'])} {plain(each['operation'])} {plain(summary(each['arguments']))}: "
            f"/approve {short(each['id'])}, /reject {short(each['id'])}"
            if each["kind"] in ("confirm", "low_confidence")
            else f"  {short(each['id'])} {plain(each['operation'])}: {decide_commands(each)[0]}"
            for each in await self.questions.open()
        ]
        return [f"{session['key']}: {status_text(session)}", *chosen, *usage_lines(session), *waiting]

    async def _option(self, command: ShowOption | SetOption | SetQueue) -> list[str]:
        if isinstance(command, ShowOption):
            session = await self.service.session(self.key)
            return [f"{_name(command.option)}: {_value(session, command.option) or 'as in the settings'}"]
        if isinstance(command, SetOption):
            changes: dict[str, Any] = {command.option: command.value}
            await self.service.change_session(self.key, changes)
            return [f"{TICK} {_name(command.option)}: {command.value or 'as in the settings'}"]
        return await self._queue(command)

    async def _queue(self, command: SetQueue) -> list[str]:
        details = (command.debounce_ms, command.cap, command.drop)
        if any(each is not None for each in details):
            raise UsageError(
                "debounce, cap and drop hold for all sessions",
                hint="set them in the settings: messages.queue (debounceMs, cap, drop)",
            )
        await self.service.change_session(self.key, {"queue_mode": command.mode})
        return [f"{TICK} queue mode: {command.mode}"]

    async def _decide(self, request: DecisionRequest) -> SlashReply:
        [answer] = await self.service.decide([request])
        if answer.refusal is not None or answer.approval is None:
            refusal = answer.refusal
            raise UsageError(
                refusal.message if refusal else "nothing was decided", hint=refusal.hint if refusal else ""
            )
        did = WHAT_IT_DID[answer.approval["decision"] or ""]
        line = f"{TICK} {short(answer.approval['id'])} {plain(answer.approval['operation'])}: {did}"
        return SlashReply([line], runs=decided_runs([answer]))

    def _experts(self, name: str) -> SlashReply:
        from colleague.experts.expert import find_expert, usable_experts

        if name:
            return SlashReply(session=str(SessionKey.for_expert(find_expert(self.home, name).name)))
        found = [(each.name, each.read_manifest()) for each in usable_experts(self.home)]
        lines = [f"{each}: {plain(manifest.description)}" if manifest else each for each, manifest in found]
        return SlashReply(lines or ["There are no experts; install one: colleague expert install"])

    async def _sessions(self, name: str) -> SlashReply:
        if name:
            return SlashReply(session=(await self.service.session(name))["key"])
        found = await self.service.sessions(limit=50)
        return SlashReply([f"{each['label'] or each['key']}: {status_text(each)}" for each in found])


def _width() -> int:
    """Of the terminal, as it is now."""
    return max(20, shutil.get_terminal_size().columns)


def _name(option: Option) -> str:
    return option.replace("_", " ")


def _value(session: SessionDocument, option: Option) -> str:
    entry: Mapping[str, Any] = session
    return model_text(session) if option == "model" else str(entry[_FIELDS[option]] or "")
