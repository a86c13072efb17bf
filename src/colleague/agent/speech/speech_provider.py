"""What a speech provider is: ours, or one that a plugin brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class SpeechRequest:
    """`voice` is a name that the provider knows; empty for its own."""

    text: str
    voice: str
    seconds: float


@dataclass(frozen=True)
class Speech:
    """Sound as a file, such as audio/wav."""

    data: bytes
    media_type: str


class SpeechProvider(Protocol):
    """Says a text."""

    async def speak(self, request: SpeechRequest) -> Speech:
        """Raises ColleagueError in words that a model can act on."""
        ...
