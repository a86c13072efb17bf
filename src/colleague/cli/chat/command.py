"""The command: which session is talked to, and by which kind of terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from colleague.cli.agent import ExpertOption, SessionOption
from colleague.cli.options import HomeOption

if TYPE_CHECKING:
    from colleague.cli.client import Client
    from colleague.home import Home


def chat(session: SessionOption = "", expert: ExpertOption = "", home: HomeOption = None) -> None:
    """Talk to an agent in this terminal: /help shows the commands, Ctrl-D leaves. Over a pipe, each line is
    sent after the answer to the one before."""
    from colleague.cli.agent import chosen_session
    from colleague.cli.client import with_client
    from colleague.cli.run_view import end_with
    from colleague.home import Home

    place = Home.find(home)
    name = chosen_session(place, session, expert=expert)
    end_with(with_client(home, lambda using: _talk(using, place, name)))


async def _talk(using: Client, home: Home, name: str) -> int:
    async with using.working() as working:
        if sys.stdin.isatty() and sys.stdout.isatty():
            from colleague.cli.chat.talk import talk_on_a_terminal

            left = await talk_on_a_terminal(working, home, name)
        else:
            from colleague.cli.chat.pipe import talk_over_a_pipe

            return await talk_over_a_pipe(working, home, name)
    if left:
        await using.say_what_stays([left])
    return 0
