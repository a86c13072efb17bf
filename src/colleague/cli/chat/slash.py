"""What came of a line with a slash in front, as the terminal shows it."""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from colleague.cli.approval_view import commands as decide_commands
from colleague.cli.approval_view import summary
from colleague.cli.decide import WHAT_IT_DID
from colleague.cli.output import TICK, plain
from colleague.cli.session_view import context_lines, usage_lines
from colleague.run_document import short
from colleague.runtime.requests import DecisionRequest, decided_runs
from colleague.runtime.slash_commands import SlashCommands, SlashReply
from colleague.session_text import set_lines, status_text
from colleague.sessions.slash_command import (
    Command,
    Help,
    LeaveChat,
    ListExperts,
    ListSessions,
    ShowContext,
    ShowStatus,
    help_text,
)

if TYPE_CHECKING:
    from colleague.cli.chat.questions import Questions
    from colleague.home import Home
    from colleague.run_document import ApprovalDocument
    from colleague.runtime.requests import DecisionAnswer
    from colleague.runtime.service import Service
    from colleague.session_document import SessionDocument


@dataclass(frozen=True)
class TerminalReply:
    """What is shown, and what follows."""

    lines: Sequence[str] = ()
    message: str = ""
    """To be sent now."""
    runs: Sequence[str] = ()
    """Runs that go on because of it."""
    session: str = ""
    """The session to go on in."""
    leaves: bool = False


@dataclass(frozen=True)
class TerminalCommands:
    """For one session. Raises ColleagueError with a sentence."""

    service: Service
    home: Home
    key: str
    questions: Questions
    by: str = field(default_factory=getpass.getuser)

    async def run(self, command: Command) -> TerminalReply:
        commands = SlashCommands(self.service, self.home, self.key, self.by, self._decide)
        reply = await commands.run(command)
        if reply is not None:
            return _shown_reply(reply)
        if isinstance(command, LeaveChat):
            return TerminalReply(leaves=True)
        return TerminalReply(await self._lines(command))

    async def _lines(self, command: Command) -> Sequence[str]:
        match command:
            case ListExperts():
                return self._experts()
            case ListSessions():
                found = await self.service.sessions(limit=50)
                return [f"{each['label'] or each['key']}: {status_text(each)}" for each in found]
            case Help(name):
                return help_text(name, width=_width()).splitlines()
            case ShowContext():
                return context_lines(await self.service.session(self.key))
            case ShowStatus():
                return await self._status(await self.service.session(self.key))
        return []

    async def _status(self, session: SessionDocument) -> list[str]:
        _, *chosen = set_lines(session)
        waiting = [_waiting_line(each) for each in await self.questions.open()]
        return [f"{session['key']}: {status_text(session)}", *chosen, *usage_lines(session), *waiting]

    async def _decide(self, request: DecisionRequest) -> DecisionAnswer:
        [answer] = await self.service.decide([request])
        return answer

    def _experts(self) -> list[str]:
        from colleague.experts.expert import listed_experts

        found = [(each.name, each.read_manifest()) for each in listed_experts(self.home)]
        lines = [f"{each}: {plain(manifest.description)}" if manifest else each for each, manifest in found]
        return lines or ["There are no experts; install one: colleague expert install"]


def _shown_reply(reply: SlashReply) -> TerminalReply:
    if reply.begun:
        return TerminalReply([f"{TICK} a new conversation; the one before is archived"], reply.message)
    if reply.decided is not None and reply.decided.approval is not None:
        decided = reply.decided.approval
        did = WHAT_IT_DID[decided["decision"] or ""]
        line = f"{TICK} {short(decided['id'])} {plain(decided['operation'])}: {did}"
        return TerminalReply([line], runs=decided_runs([reply.decided]))
    text = f"{TICK} {reply.text}" if reply.changed else reply.text
    return TerminalReply([text] if text else (), reply.message, session=reply.session)


def _waiting_line(approval: ApprovalDocument) -> str:
    ending, operation = short(approval["id"]), plain(approval["operation"])
    if approval["kind"] not in ("confirm", "low_confidence"):
        return f"  {ending} {operation}: {decide_commands(approval)[0]}"
    return (
        f"  {ending} {operation} {plain(summary(approval['arguments']))}: /approve {ending}, /reject {ending}"
    )


def _width() -> int:
    """Of the terminal, as it is now."""
    return max(20, shutil.get_terminal_size().columns)
