"""A message that shortens the conversation: `/compact`, and what must stay."""

from __future__ import annotations

import re

_COMPACT = re.compile(r"/compact(?:\s+(.*))?", re.DOTALL | re.IGNORECASE)
WORD = "/compact"


def compact_instructions(text: str) -> str | None:
    """What a person wants to be kept, which may be empty; None for any other message."""
    match = _COMPACT.fullmatch(text.strip())
    return (match[1] or "").strip() if match else None
