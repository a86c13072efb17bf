"""What a handler of a modifying hook may return, and the check that it did."""

from __future__ import annotations

import json
import re
from typing import Any, TypedDict

from colleague.suggest import did_you_mean


class AgentStartResult(TypedDict, total=False):
    """`system_prompt` stands before the system prompt, as instructions. `prepend_context` stands before the
    first message of the turn, as data."""

    system_prompt: str
    prepend_context: str


class ToolCallResult(TypedDict, total=False):
    """`params` takes the place of all parameters."""

    params: dict[str, Any]
    block: bool
    reason: str


class PersistResult(TypedDict, total=False):
    """`text` takes the place of the result's text."""

    text: str


class SendingResult(TypedDict, total=False):
    """`text` takes the place of what would be sent."""

    text: str
    cancel: bool
    reason: str


_KEYS: dict[str, dict[str, type]] = {
    "before_agent_start": {"system_prompt": str, "prepend_context": str},
    "before_tool_call": {"params": dict, "block": bool, "reason": str},
    "tool_result_persist": {"text": str},
    "message_sending": {"text": str, "cancel": bool, "reason": str},
}
MODIFYING = tuple(_KEYS)
_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")


class BadHookResult(Exception):
    """A handler returned something that its hook does not take."""


def read_result(hook: str, value: Any) -> dict[str, Any]:
    """What a handler returned, checked; keys may be written as OpenClaw has them. Raises BadHookResult."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadHookResult(f"it returned {type(value).__name__}, not a dict or None")
    named = {_CAPITAL.sub(r"_\1", str(key)).lower(): each for key, each in value.items()}
    for key, each in named.items():
        _check(hook, key, each)
    return {key: _as_json(each) if key == "params" else each for key, each in named.items()}


def _check(hook: str, key: str, value: Any) -> None:
    takes = _KEYS[hook]
    if key not in takes:
        hint = did_you_mean(key, takes) or f"it takes: {', '.join(takes)}"
        raise BadHookResult(f"it returned {key!r}, which {hook} does not take; {hint}")
    if not isinstance(value, takes[key]):
        raise BadHookResult(f"{key} is {type(value).__name__}, not {takes[key].__name__}")


def _as_json(params: dict[str, Any]) -> dict[str, Any]:
    """The same as JSON has it, which is how they are stored, shown and digested."""
    try:
        copied: dict[str, Any] = json.loads(json.dumps(params, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadHookResult(f"params cannot be written as JSON: {error}") from None
    return copied
