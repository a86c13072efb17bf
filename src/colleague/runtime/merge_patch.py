"""Changing single fields of a JSON object (RFC 7396)."""

from __future__ import annotations

from typing import Any


def merged(target: Any, changes: Any) -> Any:
    """`target` with `changes` laid over it: objects field by field, null takes a field away."""
    if not isinstance(changes, dict):
        return changes
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The changes that make `after` of `before`."""
    changed: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            inner = difference(old, value)
            changed |= {name: inner} if inner else {}
        elif name not in before or value != old:
            changed[name] = value
    return changed
