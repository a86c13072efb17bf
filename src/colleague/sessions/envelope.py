"""What goes with work that is handed over: who asked and where, the end of the conversation, what it names.

Never the whole transcript; all of it is data."""

from __future__ import annotations

import re
from collections.abc import Sequence

from colleague.agent.render import wrapped
from colleague.store.session_entry import SessionEntry
from colleague.store.session_items import SessionItem, latest_items
from colleague.store.tx import Tx

MOST_MESSAGES = 6
MOST_CHARS = 4_000
MOST_HINTS = 20
_HINTS = {
    "mail addresses": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "amounts": re.compile(r"(?:[$€£]\s?\d[\d.,]*\s?[kKmM]?|\b\d[\d.,]*\s?(?:EUR|USD|GBP|AUD)\b)"),
    "ids": re.compile(r"\b(?:[A-Za-z]+[-_])+[\w]*\d[\w-]*\b|#\d+\b|\b[A-Z]{1,5}-\d+\b"),
    "dates": re.compile(r"\b\d{4}-\d{2}-\d{2}\b"),
}


def envelope(tx: Tx, task: str, entry: SessionEntry) -> str:
    """The task as the agent wrote it, then what is known around it."""
    items = [each for each in latest_items(tx, entry.key, entry.id, limit=MOST_MESSAGES) if each.text]
    parts = [task, f"[Asked for in the session {entry.key}{_place(entry)}; the answer goes back there.]"]
    excerpt = excerpt_of(items)
    if excerpt:
        parts.append(f"[How the conversation there went before:]\n{wrapped(excerpt, entry.key)}")
    hints = hints_of(f"{task}\n{excerpt}")
    if hints:
        parts.append(f"[Named in it:]\n{wrapped(hints, entry.key)}")
    return "\n\n".join(parts)


def _place(entry: SessionEntry) -> str:
    return f" on {entry.channel}" if entry.channel else ""


def excerpt_of(items: Sequence[SessionItem]) -> str:
    """The last messages, the newest whole where there is room for them."""
    lines: list[str] = []
    left = MOST_CHARS
    for item in reversed(items[-MOST_MESSAGES:]):
        line = f"{item.role}{' (stopped)' if item.is_stopped else ''}: {item.text}"
        if len(line) > left:
            line = f"{line[: max(left - 4, 0)]} ..."
        lines.append(line)
        left -= len(line) + 1
        if left <= 0:
            break
    return "\n".join(reversed(lines))


def hints_of(text: str) -> str:
    """What a text names that can be looked up, one kind to a line."""
    lines = []
    for name, pattern in _HINTS.items():
        found = list(dict.fromkeys(pattern.findall(text)))[:MOST_HINTS]
        if found:
            lines.append(f"{name}: {', '.join(found)}")
    return "\n".join(lines)
