"""Arguments of a call as a person reads them: text as text, a list as a list, the rest as it is written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

FieldKind = Literal["line", "text", "list", "number", "switch", "data"]
LONG_CHARS = 80


@dataclass(frozen=True)
class ReadableField:
    """One argument. `text` is what stands in the form."""

    name: str
    kind: FieldKind
    text: str
    required: bool = False
    description: str = ""


def readable_fields(arguments: Any, parameters: dict[str, Any] | None = None) -> list[ReadableField]:
    """The arguments of a call, in their order; with what the tool says of each."""
    if not isinstance(arguments, dict):
        return [ReadableField("", "data", _json(arguments))] if arguments is not None else []
    schema = parameters or {}
    known, required = schema.get("properties") or {}, schema.get("required") or ()
    return [_field(name, value, known.get(name), name in required) for name, value in arguments.items()]


def _field(name: str, value: Any, schema: Any, required: bool) -> ReadableField:
    said = schema.get("description", "") if isinstance(schema, dict) else ""
    kind, text = _shown(value)
    return ReadableField(str(name), kind, text, required, said if isinstance(said, str) else "")


def _shown(value: Any) -> tuple[FieldKind, str]:
    if isinstance(value, bool):
        return "switch", "true" if value else "false"
    if isinstance(value, str):
        return ("text" if "\n" in value or len(value) > LONG_CHARS else "line"), value
    if isinstance(value, int | float):
        return "number", json.dumps(value)
    if value and isinstance(value, list) and all(_is_plain(each) for each in value):
        return "list", "\n".join(value)
    return "data", _json(value)


def changed_value(before: Any, text: str) -> Any:
    """What a form's text means in the place of a value. Raises ValueError when it is no such value."""
    if isinstance(before, str):
        return text.replace("\r\n", "\n")
    if _shown(before)[0] == "list":
        return [line for line in text.splitlines() if line.strip()]
    return json.loads(text)


def _is_plain(value: Any) -> bool:
    """A text that is one line of a list and no more."""
    return isinstance(value, str) and bool(value.strip()) and value.splitlines() == [value]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
