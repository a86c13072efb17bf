"""Everything as it comes: the events of a run, and the pieces of each answer before anything uses them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from colleague.agent.models.delta import Delta, TextDelta, ThinkingDelta
from colleague.agent.tracing.record import Cleaner, Document, now

MOST_PIECES = 100_000
"""Pieces of one answer that are kept; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of an answer, and when it came."""

    at: str
    delta: Delta


@dataclass
class Pieces:
    """The pieces of one answer, written when it ends: a secret cannot be recognised by a part of it."""

    kept: list[Piece] = field(default_factory=list)
    left_out: int = 0

    def add(self, delta: Delta) -> None:
        if len(self.kept) < MOST_PIECES:
            self.kept.append(Piece(now(), delta))
        else:
            self.left_out += 1

    def documents(self, about: Document, cleaner: Cleaner) -> Iterator[Document]:
        """A document for each piece as it came; a part with something to hide is told as a whole."""
        hiding = _hiding_parts(self.kept, cleaner)
        for piece in self.kept:
            part = piece.delta.part
            if part not in hiding:
                yield about | {"at": piece.at, "event": "delta", **_delta_document(piece.delta)}
            elif piece is hiding[part].last:
                whole = {"text": hiding[part].text, "pieces": hiding[part].count}
                yield about | {"at": piece.at, "event": "delta", **_delta_document(piece.delta), **whole}
        if self.left_out:
            yield about | {"at": now(), "event": "deltas_left_out", "pieces": self.left_out}


@dataclass(frozen=True)
class _Whole:
    """A part in one piece, cleaned."""

    text: str
    count: int
    last: Piece


def _hiding_parts(pieces: list[Piece], cleaner: Cleaner) -> dict[int, _Whole]:
    parts: dict[int, list[Piece]] = {}
    for piece in pieces:
        parts.setdefault(piece.delta.part, []).append(piece)
    found = {}
    for number, members in parts.items():
        text = "".join(_text(each.delta) for each in members)
        if (clean := cleaner.text(text)) != text:
            found[number] = _Whole(clean, len(members), members[-1])
    return found


def _text(delta: Delta) -> str:
    return delta.text if isinstance(delta, TextDelta | ThinkingDelta) else delta.arguments


def _delta_document(delta: Delta) -> Document:
    if isinstance(delta, TextDelta):
        return {"kind": "text", "part": delta.part, "text": delta.text}
    if isinstance(delta, ThinkingDelta):
        return {"kind": "thinking", "part": delta.part, "text": delta.text}
    called = {"call_id": delta.call_id, "name": delta.name}
    return {"kind": "tool_call", "part": delta.part, "text": delta.arguments, **called}
