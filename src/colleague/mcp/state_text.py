"""How an MCP server stands, in words for people, and what cures it."""

from __future__ import annotations

from collections.abc import Mapping

_WORDS: Mapping[str, str] = {
    "held": "waits for a yes, and is not started",
    "idle": "not started yet",
    "waiting": "down, and tried again",
    "needs_login": "needs a login",
}
_CURES: Mapping[str, str] = {
    "held": "colleague mcp accept {}",
    "waiting": "colleague mcp probe {}",
    "needs_login": "colleague mcp login {}",
}


def state_words(state: str) -> str:
    return _WORDS.get(state, state)


def state_cure(state: str, name: str) -> str:
    """The command that helps; empty where nothing is wrong."""
    return _CURES.get(state, "").format(name)
