"""What a chat at a terminal says of being at work, whenever a person looks or presses Ctrl-C."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from colleague.cli.chat.talk import Chat
from colleague.cli.client import Client
from colleague.runtime.service import Service
from tests.integration.sessions.room import MAIN, Room, acting, house


@dataclass
class HeldItems:
    """The service, which takes its time with the transcript once the chat has begun."""

    service: Service
    asked: asyncio.Event
    go_on: asyncio.Event
    greeted: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.service, name)

    def whole(self) -> Any:
        return self

    async def items(self, *given: Any, **more: Any) -> Any:
        if self.greeted:
            self.asked.set()
            await self.go_on.wait()
        self.greeted = True
        return await self.service.items(*given, **more)


def test_a_turn_that_begins_while_the_session_is_looked_at_is_at_work(tmp_path: Path) -> None:
    """The look found nothing at work, and is over after the message was sent: that is old news then."""
    place = house(tmp_path)

    async def acts(room: Room) -> None:
        held: Any = HeldItems(room.service, asyncio.Event(), asyncio.Event())
        with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
            chat = Chat(Client(place.home, held), place.home)
            labels: list[str] = []
            shown = chat.screen.busy
            chat.screen.busy = lambda label: (labels.append(label), shown(label))[1]  # type: ignore[method-assign]
            talking = asyncio.create_task(chat.talk(MAIN))
            async with asyncio.timeout(240):
                await held.asked.wait()
                keys.send_text("hello\r")
                while "thinking" not in labels:
                    await asyncio.sleep(0.01)
                held.go_on.set()
                while labels.count("thinking") < 2:
                    await asyncio.sleep(0.01)
            assert "" not in labels[labels.index("thinking") :], "the turn has not ended"
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)

    acting(place, acts)
