"""An error as data: {"error": {"code", "message", "hint"}}."""

from __future__ import annotations

import re
from typing import Any

_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def error_document(code: str, message: str, hint: str = "") -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "hint": hint}}


def error_code(error: Exception) -> str:
    """What the error calls itself, else its class: `NotFound` is `not-found`, `ConfigError` is `config`."""
    for name in ("code", "reason"):
        own = getattr(error, name, None)
        if isinstance(own, str) and own:
            return own
    name = type(error).__name__.removesuffix("Error")
    return "failed" if name == "Colleague" else _WORDS.sub("-", name).lower()
