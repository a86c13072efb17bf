"""An error as data: {"error": {"code", "message", "hint"}}."""

from __future__ import annotations

from typing import Any


def error_document(code: str, message: str, hint: str = "") -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "hint": hint}}
