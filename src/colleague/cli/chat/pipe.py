"""A chat over a pipe: a line is sent after the answer to the one before; answers are plain text."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.cli.agent import one_turn
from colleague.cli.chat.attachments import with_files
from colleague.cli.chat.questions import Questions
from colleague.cli.chat.slash import TerminalCommands, TerminalReply
from colleague.cli.output import say, say_error
from colleague.cli.run_view import WAITS, say_documents
from colleague.errors import ColleagueError
from colleague.runtime.requests import MessageRequest
from colleague.sessions.slash_command import PlainMessage, parse_line

if TYPE_CHECKING:
    from colleague.cli.client import Client
    from colleague.home import Home


async def talk_over_a_pipe(using: Client, home: Home, name: str) -> int:
    """Until the lines end. 1 when a turn failed or a line could not be understood; questions that wait are
    no failure of a conversation."""
    talk = PipedTalk(using, home, name)
    codes = [0]
    while (line := await asyncio.to_thread(_next_line)) is not None:
        if line.strip():
            try:
                codes.append(await talk.take(line))
            except ColleagueError as error:
                say_error(error)
                codes.append(1)
        if talk.left:
            break
    return 1 if any(code not in (0, WAITS) for code in codes) else 0


def _next_line() -> str | None:
    """A line that ends with a backslash goes on in the next one; None at the end."""
    whole = ""
    while line := sys.stdin.readline():
        text = line.rstrip("\n")
        if not text.endswith("\\"):
            return whole + text
        whole += text[:-1] + "\n"
    return whole or None


class PipedTalk:
    """Takes one line after another."""

    def __init__(self, using: Client, home: Home, name: str) -> None:
        self._using = using
        self._home = home
        self._name = name
        self.left = False

    async def take(self, line: str) -> int:
        """The exit code of the turn that came of it."""
        meant = parse_line(line)
        if isinstance(meant, PlainMessage):
            return await self._send(meant.text)
        key = (await self._using.service.session(self._name))["key"]
        questions = Questions(self._using.service, key)
        return await self._follow(
            await TerminalCommands(self._using.service, self._home, key, questions).run(meant)
        )

    async def _send(self, text: str) -> int:
        message = with_files(text, Path.cwd(), self._home)
        request = MessageRequest(message.text, attachments=message.attachments)
        return await one_turn(self._using, self._name, request, as_json=False)

    async def _follow(self, reply: TerminalReply) -> int:
        for line in reply.lines:
            say(line)
        self.left = reply.leaves
        self._name = reply.session or self._name
        code = 0
        if reply.runs:
            documents = await self._using.follow(reply.runs, quiet=False)
            code = await say_documents(self._using.runs, documents, as_json=False)
        return await self._send(reply.message) if reply.message else code
