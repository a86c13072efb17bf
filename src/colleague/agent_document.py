"""An agent as a document: who it is to people."""

from __future__ import annotations

from typing_extensions import TypedDict


class AgentDocument(TypedDict):
    """An agent of `agents.list`. `avatar` is the address of its picture here, null when it has none; then
    `avatar_problem` may say why."""

    id: str
    name: str | None
    description: str | None
    emoji: str | None
    avatar: str | None
    avatar_problem: str | None
