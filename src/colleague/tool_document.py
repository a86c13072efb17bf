"""A tool of a session as a document: whether it is offered, who is asked, and which layer decided."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict


class DecidingLayer(TypedDict):
    """The layer of the tool policy that decided, and its rule."""

    layer: str
    rule: str


class LayerDocument(DecidingLayer):
    """What one layer says of a tool; `none` when it says nothing."""

    effect: Literal["allow", "deny", "none"]


class ToolDocument(TypedDict):
    """A tool of a session. `tier` is of a call without arguments, where arguments decide. `note` says what
    else holds for it in this session."""

    tool: str
    offered: bool
    tier: str
    server: str | None
    description: str
    note: str
    decided_by: DecidingLayer
    layers: list[LayerDocument]
