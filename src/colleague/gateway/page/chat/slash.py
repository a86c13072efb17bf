"""Commands that a person types on the page with a slash in front: what came of them, as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass

from colleague.experts.expert import listed_experts
from colleague.gateway.api.approvals import decide_in
from colleague.gateway.gateway import Gateway
from colleague.gateway.page.chat.notice import Notice
from colleague.gateway.page.chat.tree import session_path
from colleague.gateway.page.render import decided
from colleague.gateway.page.visitor import Visitor
from colleague.gateway.schemas import DecisionAsked
from colleague.runtime.requests import DecisionAnswer, DecisionRequest
from colleague.runtime.slash_commands import SlashCommands, SlashReply
from colleague.session_text import set_lines, shown_context, status_text, usage_lines
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


@dataclass(frozen=True)
class CommandAnswer:
    """What a command says; `message` is to be sent now."""

    notice: Notice
    message: str = ""


@dataclass(frozen=True)
class PageCommands:
    """For one session. Raises ColleagueError with a sentence."""

    gateway: Gateway
    visitor: Visitor
    key: str

    async def run(self, command: Command) -> CommandAnswer:
        commands = SlashCommands(
            self.gateway.service, self.gateway.home, self.key, self.visitor.name, self._decide
        )
        reply = await commands.run(command)
        if reply is not None:
            return CommandAnswer(await self._notice(reply), reply.message)
        if command == ListSessions():
            return CommandAnswer(Notice(goes_to="/chat/sessions"))
        return CommandAnswer(Notice(await self._lines(command)))

    async def _notice(self, reply: SlashReply) -> Notice:
        if reply.session:
            await self.gateway.service.change_session(reply.session, {})
        if reply.begun or reply.session:
            return Notice(goes_to=session_path(reply.session or self.key))
        if reply.decided is not None and reply.decided.approval is not None:
            found = reply.decided.approval
            did = decided(found["decision"])
            return Notice([f"{found['operation']}: {did} by {self.visitor.name}."], passing=True)
        return Notice([reply.text] if reply.text else ())

    async def _lines(self, command: Command) -> list[str]:
        match command:
            case ListExperts():
                return [each.name for each in listed_experts(self.gateway.home)] or ["There are no experts."]
            case Help(name):
                return help_text(name).splitlines()
            case ShowContext():
                return shown_context(await self.gateway.service.session(self.key))
            case ShowStatus():
                session = await self.gateway.service.session(self.key)
                chosen, used = set_lines(session)[1:], usage_lines(session, _moment)
                return [f"{session['key']}: {status_text(session)}", *chosen, *used]
        return ["Close the page to leave; the conversation stays."] if isinstance(command, LeaveChat) else []

    async def _decide(self, request: DecisionRequest) -> DecisionAnswer:
        """By the rules of the inbox."""
        seen = await self.gateway.service.approval(request.approval)
        self.visitor.require_decider(seen["expert"])
        asked = DecisionAsked.model_validate(
            {
                "decision": request.decision,
                "digest": seen["digest"],
                "by": request.by,
                "note": request.note,
            }
        )
        return await decide_in(self.gateway, seen["id"], asked)


def _moment(at: str | None) -> str:
    return (at or "")[:16].replace("T", " ")
