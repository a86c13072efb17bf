"""What a channel is to an agent: a place for messages, which can do some things and others not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from colleague.errors import ColleagueError, UsageError

Capability = Literal["send", "read", "react", "thread-create", "thread-reply"]


class ChannelError(ColleagueError):
    """A channel could not do what was asked, and surely did nothing."""


@dataclass(frozen=True)
class Target:
    """Where something goes. `to` and `thread` are ids of the channel; empty is the session's own place."""

    agent_id: str
    session_key: str
    to: str = ""
    thread: str = ""


@dataclass(frozen=True)
class Outgoing:
    """What is done there. `key` stays the same when it is done again after a crash."""

    target: Target
    key: str
    text: str = ""
    message_id: str = ""
    """The message that a reaction is about, that a thread begins with, or that is replied to."""
    emoji: str = ""
    name: str = ""
    """Of a thread."""
    media: tuple[str, ...] = ()
    """Addresses of what goes along: on the web, or `media:SHA256` for what is kept here."""
    as_voice: bool = False
    """Whether the text is to be spoken, where the channel can."""


@dataclass(frozen=True)
class ReadMessage:
    """A message of a channel, as an agent reads it."""

    id: str
    sender: str
    text: str
    at: str


class MessageChannel(Protocol):
    """A channel that agents can use. `act` is asked only for what is in `capabilities`.

    It raises ChannelError when surely nothing happened; any other error means that it may have."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[Capability]: ...

    async def act(self, action: Capability, what: Outgoing) -> str:
        """Does it; returns the id of what it made. The same `key` again makes nothing twice."""
        ...

    async def read(self, target: Target, limit: int) -> list[ReadMessage]:
        """The last messages there, the oldest first."""
        ...


def require_capable(channel: MessageChannel, action: Capability) -> None:
    """Raises UsageError that says what the channel cannot do, and what it can."""
    if action not in channel.capabilities:
        can = ", ".join(sorted(channel.capabilities)) or "nothing"
        raise UsageError(f"the channel {channel.name!r} cannot {action}", hint=f"it can: {can}")
