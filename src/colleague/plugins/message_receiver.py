"""Where plugins bring messages of their channels, while a gateway runs in this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from colleague.channels.channel import ChannelError

TakeMessage = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


@dataclass
class MessageReceiver:
    """Closed until a gateway says who takes the messages."""

    take: TakeMessage | None = None

    async def receive(self, channel: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """What became of it, stored before this returns. Raises ColleagueError."""
        if self.take is None:
            raise ChannelError(
                "no gateway takes messages in this process", hint="begin when gateway_start is told"
            )
        return await self.take(channel, dict(message))
