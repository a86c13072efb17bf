"""What plugins may bring beside tools and channels, as the rooms below ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from colleague.agent.models.provided import ModelProvider as ModelProvider


class PluginSearch(Protocol):
    """Searches the web for `web_search`. What it returns is untrusted."""

    async def search(self, query: Any) -> Sequence[Any]: ...


class PluginSpeech(Protocol):
    """Speaks a text for `tts`: the bytes of a sound file."""

    async def speak(self, text: str, voice: str) -> bytes: ...
