"""Whether arguments fit the JSON schema of a tool."""

from __future__ import annotations

from typing import Any

MOST_TOLD = 10


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
    return f"{where}: {error.message}" if where else str(error.message)
