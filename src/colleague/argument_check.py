"""Whether arguments fit the JSON schema of a tool."""

from __future__ import annotations

import json
from typing import Any

MOST_TOLD = 10
MOST_OPTIONS = 30


def misfits(schema: dict[str, Any], arguments: Any) -> list[str]:
    """What does not fit, each with its place. A broken schema refuses nothing: the tool will."""
    import jsonschema_rs

    try:
        validator = jsonschema_rs.validator_for(schema, offline=True)
    except jsonschema_rs.ValidationError:
        return []
    return [_described(error) for error in validator.iter_errors(arguments)][:MOST_TOLD]


def _described(error: Any) -> str:
    where = "/".join(str(part) for part in error.instance_path)
    said = _enumerated(error) or str(error.message)
    return f"{where}: {said}" if where else said


def _enumerated(error: Any) -> str:
    """All that would fit; the library names only the first two."""
    if error.kind.name != "enum" or len(error.kind.options) > MOST_OPTIONS:
        return ""
    value, *options = (json.dumps(each, ensure_ascii=False) for each in (error.instance, *error.kind.options))
    return f"{value} is not one of {', '.join(options)}"
