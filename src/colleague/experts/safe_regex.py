"""Regular expressions that an operator writes, in the syntax of RE2: linear time, whatever the text is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX_LENGTH = 200
MAX_TEXT = 4000

_MAX_MEMORY = 1 << 20
"""Bytes a compiled pattern may take, so that nested {1000} are refused."""


@dataclass(frozen=True)
class Pattern:
    """A pattern that compiles."""

    text: str
    _compiled: Any = field(repr=False, compare=False)

    def found_in(self, text: str) -> bool:
        """Whether it occurs somewhere in the first 4,000 characters of `text`."""
        return self._compiled.search(text[:MAX_TEXT].encode("utf-8", "replace")) is not None


def parse_pattern(text: str) -> Pattern:
    """Raises ValueError, with a sentence for the operator, when `text` is no pattern that can be used."""
    if not 0 < len(text) <= MAX_LENGTH:
        raise ValueError(f"a pattern has 1 to {MAX_LENGTH} characters, found {len(text)}")
    import re2

    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.log_errors = False
    try:
        return Pattern(text, re2.compile(text.encode(), options))
    except re2.error as error:
        raise ValueError(f"{text[:60]!r} is no pattern for RE2: {_reason(error)}") from None
    except UnicodeEncodeError:
        raise ValueError("a pattern cannot have half a character in it") from None


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace")[:120] if isinstance(said, bytes) else str(said)[:120]
