"""Paths into an event's payload, such as `messages[0].id`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PayloadPath:
    text: str

    def find(self, payload: Any) -> Any:
        """The value at this path, None when there is none."""
        import jmespath

        return jmespath.search(self.text, payload)


def parse_payload_path(text: str) -> PayloadPath:
    """Raises ValueError, with a sentence for the author, when `text` is no path."""
    if _is_dotted(text):
        return PayloadPath(text)
    import jmespath
    import jmespath.exceptions

    try:
        if len(text) > 500:
            raise ValueError(text)
        jmespath.compile(text)
    except (jmespath.exceptions.JMESPathError, RecursionError, ValueError):
        raise ValueError(
            f"{text[:60]!r} is no payload path; write one such as contact_id or messages[0].id"
        ) from None
    return PayloadPath(text)


def _is_dotted(text: str) -> bool:
    """Most paths are plain names, and need no parser to be known good."""
    parts = text.split(".")
    return all(part.isascii() and part.isidentifier() for part in parts)
