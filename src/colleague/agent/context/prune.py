"""Cutting old results of tools: long ones to head and tail, and all of them when that is not enough.

With `cache-ttl` nothing changes while the provider's cache is fresh. What is cut follows from the transcript
and its times alone, so the same beginning is sent again after a restart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from colleague.agent.context.budget import ContextBudget
from colleague.agent.context.result_text import closed, shortened
from colleague.agent.context.unit import MessageUnit, total_tokens
from colleague.config.context import ContextPruning, PrunableTools

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

Change = Callable[[str], str]


def pruned(
    units: Sequence[MessageUnit], rules: ContextPruning, budget: ContextBudget, now: datetime
) -> Sequence[MessageUnit]:
    if rules.mode == "off":
        return units
    seen = _decided_at(units, rules, now)
    old = _old_units(units[:seen], rules.prune_after_turns, steps=rules.mode == "aggressive")
    trimmed = [_changed(unit, rules.tools, _trim(rules)) for unit in units[:old]]
    most = budget.window * rules.hard_clear_ratio if budget.window else None
    rest = units[old:seen]
    if most is not None and rules.hard_clear.enabled:
        trimmed = _cleared(trimmed, rules, total_tokens(trimmed) + total_tokens(rest) - most)
    return [*trimmed, *rest, *units[seen:]]


def _decided_at(units: Sequence[MessageUnit], rules: ContextPruning, now: datetime) -> int:
    """How many units there were when it was decided what is cut: now, or when the cache was last cold."""
    if rules.mode == "aggressive":
        return len(units)
    ttl = rules.ttl.seconds
    times = [_answered_at(unit) for unit in units]
    later = now
    for index in range(len(units) - 1, -1, -1):
        answered = times[index]
        if answered is None:
            continue
        if (later - answered).total_seconds() > ttl:
            return index + 1
        later = answered
    return 0


def _answered_at(unit: MessageUnit) -> datetime | None:
    return next((each.timestamp for each in unit.messages if each.kind == "response"), None)


def _old_units(units: Sequence[MessageUnit], recent: int, *, steps: bool) -> int:
    """How many units come before the last answers. With `steps` that moves only now and then: between two
    steps the beginning stays the same, and providers find it in their caches."""
    answers = [index for index, unit in enumerate(units) if _answered_at(unit) is not None]
    old = len(answers) - recent
    step = max(1, recent // 2) if steps else 1
    old = old // step * step
    return answers[old] if 0 < old < len(answers) else len(units) if old > 0 else 0


def _trim(rules: ContextPruning) -> Change:
    """Head and tail. The marker comes on top, so what is hardly longer stays as it is."""
    most, head = rules.max_chars_per_tool_result, rules.tool_result_head_ratio

    def trim(text: str) -> str:
        if len(text) <= most * 1.1 + 100:
            return text
        return closed(shortened(text, most, head=head, tail=1 - head))

    return trim


def _cleared(units: list[MessageUnit], rules: ContextPruning, too_many: float) -> list[MessageUnit]:
    """The oldest results go first, as long as there are too many tokens and enough to gain."""
    if too_many <= 0 or sum(_result_chars(unit) for unit in units) < rules.min_prunable_tool_chars:
        return units
    cleared: list[MessageUnit] = []
    for unit in units:
        shorter = _changed(unit, rules.tools, lambda _: rules.hard_clear.placeholder)
        use = too_many > 0 and shorter.tokens < unit.tokens
        cleared.append(shorter if use else unit)
        too_many -= unit.tokens - shorter.tokens if use else 0
    return cleared


def _result_chars(unit: MessageUnit) -> int:
    return sum(len(part.model_response_str()) for part in _results(unit.messages))


def _results(messages: Sequence[ModelMessage]) -> list[Any]:
    return [part for message in messages for part in message.parts if part.part_kind == "tool-return"]


def _changed(unit: MessageUnit, tools: PrunableTools, change: Change) -> MessageUnit:
    return with_results_changed(unit, lambda name, text: change(text) if may_prune(name, tools) else text)


def with_results_changed(unit: MessageUnit, change: Callable[[str, str], str]) -> MessageUnit:
    """The unit with other texts of results; `change` gets the tool's name and the text."""
    if not _results(unit.messages):
        return unit
    messages = [_message_changed(message, change) for message in unit.messages]
    return MessageUnit.of(unit.place, messages, opens=unit.opens)


def _message_changed(message: Any, change: Callable[[str, str], str]) -> Any:
    if not _results([message]):
        return message
    return replace(message, parts=[_part_changed(part, change) for part in message.parts])


def _part_changed(part: Any, change: Callable[[str, str], str]) -> Any:
    if part.part_kind != "tool-return":
        return part
    return replace(part, content=change(part.tool_name, part.model_response_str()))


def may_prune(name: str, tools: PrunableTools) -> bool:
    """Deny wins; an empty allow means all. Names may have `*` in them."""

    def listed(patterns: Sequence[str]) -> bool:
        return any(fnmatchcase(name.lower(), each.strip().lower()) for each in patterns)

    return not listed(tools.deny) and (not tools.allow or listed(tools.allow))
