"""Values of a payload or a header as text for a key: any database takes it, no two values share it."""

from __future__ import annotations

import hashlib
import math
import re
from decimal import Decimal
from typing import Any

_LONGEST = 160
_SHOWN = 40
_UNSAFE = re.compile("[%/\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def key_text(value: Any) -> str | None:
    """One text for each value; None for what identifies nothing: nothing, "", an object or a list.

    7, 7.0 and "7" are one value, true and "true" too: senders differ in how they write an id."""
    text = _text(value)
    return escaped(text) if text else None


def escaped(text: str) -> str:
    """`text` without slashes and without what a database refuses; a long one is cut and ends in its hash."""
    if len(text) > _LONGEST:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{_escape(text[:_SHOWN])}%sha256-{digest}"
    return _escape(text)


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    # Python itself refuses to write out very long whole numbers.
    return format(Decimal(value), "f") if isinstance(value, int) else None


def _escape(text: str) -> str:
    return _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in _bytes(match[0])), text)


def _bytes(character: str) -> bytes:
    return character.encode("utf-8", "surrogatepass")
