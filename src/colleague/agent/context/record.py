"""A transcript as text, for whoever summarises it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from colleague.agent.context.literals import Origin, SaidText
from colleague.agent.context.result_text import shortened
from colleague.agent.context.tokens import text_tokens
from colleague.agent.context.unit import MessageUnit

_WHO: dict[Origin, str] = {"person": "Person", "agent": "Agent", "call": "Agent calls", "result": "Result"}
SHORTEST = 200


@dataclass(frozen=True)
class RecordEntry:
    """One thing that was said or done."""

    origin: Origin
    text: str
    name: str = ""

    def __str__(self) -> str:
        who = f"{_WHO[self.origin]} of {self.name}" if self.name else _WHO[self.origin]
        return f"{who}: {self.text}"


def record_of(units: Sequence[MessageUnit]) -> list[RecordEntry]:
    """In order. What the agent only thought is left out."""
    return [entry for unit in units for message in unit.messages for entry in _entries(message.parts)]


def said_in(entries: Sequence[RecordEntry]) -> list[SaidText]:
    return [SaidText(entry.origin, entry.text) for entry in entries]


def _entries(parts: Sequence[Any]) -> Iterator[RecordEntry]:
    for part in parts:
        if part.part_kind == "user-prompt":
            yield RecordEntry("person", _user_text(part.content))
        elif part.part_kind == "text" and part.content.strip():
            yield RecordEntry("agent", part.content)
        elif part.part_kind == "tool-call":
            yield RecordEntry("call", f"{part.tool_name} {part.args_as_json_str()}")
        elif part.part_kind in ("tool-return", "retry-prompt"):
            yield RecordEntry("result", str(part.model_response_str()), part.tool_name or "")


def _user_text(content: Any) -> str:
    items = [content] if isinstance(content, str) else content
    return "\n".join(item if isinstance(item, str) else "[a picture]" for item in items)


def fitted_record(entries: Sequence[RecordEntry], most_tokens: int) -> list[RecordEntry]:
    """The same, short enough. The oldest output of a tool is left out first, then the next; when that is not
    enough, long texts are cut. The same record is always cut in the same way."""
    entries = list(entries)
    too_many = record_tokens(entries) - most_tokens
    for index, entry in enumerate(entries):
        if too_many <= 0:
            return entries
        if entry.origin == "result":
            note = replace(entry, text=f"[{len(entry.text):,} characters, left out here]")
            if len(note.text) < len(entry.text):
                too_many -= text_tokens(str(entry)) - text_tokens(str(note))
                entries[index] = note
    return entries if too_many <= 0 else _cut_texts(entries, most_tokens)


def _cut_texts(entries: list[RecordEntry], most_tokens: int) -> list[RecordEntry]:
    """Each text at most its share; when there are too many even for that, the oldest go."""
    longest = max((len(entry.text) for entry in entries), default=0)
    while longest > SHORTEST and record_tokens(entries) > most_tokens:
        longest //= 2
        entries = [replace(each, text=_cut(each.text, max(longest, SHORTEST))) for each in entries]
    while entries and record_tokens(entries) > most_tokens:
        entries = entries[max(1, len(entries) // 8) :]
    return entries


def _cut(text: str, most: int) -> str:
    """An eighth of slack, or a marker would be put into a text that has one."""
    return shortened(text, most) if len(text) > most * 1.25 + 60 else text


def record_tokens(entries: Sequence[RecordEntry]) -> int:
    return sum(text_tokens(str(entry)) + 1 for entry in entries)


def record_text(entries: Sequence[RecordEntry]) -> str:
    return "\n\n".join(map(str, entries))
