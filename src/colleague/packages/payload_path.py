"""Paths into an event's payload, such as `messages[0].id`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

MAX_LENGTH = 500
_PART = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[\w-]+)((?:\[-?\d+\])*)")


@dataclass(frozen=True)
class PayloadPath:
    """A path that is known to be readable. `expression` is what the JMESPath library is given."""

    text: str
    expression: str

    def find(self, payload: Any) -> Any:
        """The value at this path, None when there is none."""
        import jmespath
        import jmespath.exceptions

        try:
            return jmespath.search(self.expression, payload)
        except (jmespath.exceptions.JMESPathError, ValueError):
            return None


def parse_payload_path(text: str) -> PayloadPath:
    """Raises ValueError, with a sentence for the author, when `text` is no path."""
    dotted = _dotted(text)
    if dotted is not None:
        return PayloadPath(text, dotted)
    import jmespath
    import jmespath.exceptions

    try:
        if len(text) > MAX_LENGTH:
            raise ValueError(text)
        jmespath.compile(text)
    except (jmespath.exceptions.JMESPathError, RecursionError, ValueError):
        raise ValueError(
            f"{text[:60]!r} is no payload path; write one such as contact_id or messages[0].id"
        ) from None
    return PayloadPath(text, text)


def _dotted(text: str) -> str | None:
    """`headers.x-request-id` needs quotes in JMESPath, which an author of a dotted path does not know."""
    parts = [_PART.fullmatch(part) for part in text.split(".")] if len(text) <= MAX_LENGTH else [None]
    return ".".join(_quoted(part[1]) + part[2] for part in parts if part) if all(parts) else None


def _quoted(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else f'"{name}"'
