"""Cutting old results of tools."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from colleague.agent.context.budget import ContextBudget
from colleague.agent.context.prune import may_prune, pruned
from colleague.agent.context.rules import ContextRules
from colleague.agent.context.unit import MessageUnit
from colleague.agent.models.resolved import ResolvedModel
from colleague.config.context import ContextPruning, PrunableTools

NOW = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)
BUDGET = ContextBudget.of(ResolvedModel("a", "b", context_window=1_000_000), ContextRules())


def unit(position: int, at: datetime, *, tool: str = "read", chars: int = 5000) -> MessageUnit:
    head, tail = f"head {position} ", f" tail {position}"
    text = head + "x" * (chars - len(head) - len(tail)) + tail
    call = ModelResponse(parts=[ToolCallPart(tool, {}, tool_call_id=str(position))], timestamp=at)
    result = ModelRequest(parts=[ToolReturnPart(tool, text, tool_call_id=str(position))])
    return MessageUnit.of((1, position), [call, result])


def units(count: int, *, gap: int = 1, last: datetime = NOW) -> list[MessageUnit]:
    return [unit(each, last - timedelta(seconds=gap * (count - each))) for each in range(count)]


def texts(shown: Any) -> list[str]:
    return [part.content for each in shown for message in each.messages[1:] for part in message.parts]


def rules(**given: Any) -> ContextPruning:
    return ContextPruning.model_validate({"mode": "aggressive", "pruneAfterTurns": 4} | given)


def test_off_changes_nothing() -> None:
    before = units(20)
    assert pruned(before, ContextPruning(), BUDGET, NOW) is before


def test_old_results_keep_head_and_tail_and_recent_ones_stay_whole() -> None:
    shown = texts(pruned(units(10), rules(maxCharsPerToolResult=1000), BUDGET, NOW))
    assert [len(text) for text in shown[-4:]] == [5000] * 4
    old = shown[0]
    assert old.startswith("head 0 ")
    assert old.endswith(" tail 0")
    assert "4,000 characters left out" in old
    kept = old.index("\n[...")
    assert kept == 600
    assert len(old) < 1100


def test_between_two_steps_the_beginning_stays_the_same() -> None:
    """Providers cache what they have read before."""
    changes = 0
    for count in range(6, 30):
        before = texts(pruned(units(count), rules(), BUDGET, NOW))
        after = texts(pruned([*units(count), unit(count, NOW)], rules(), BUDGET, NOW))
        changes += after[:count] != before
    assert changes <= 13


def test_cache_ttl_waits_until_the_cache_is_cold() -> None:
    warm = units(20)
    wanted = rules(mode="cache-ttl", ttl="5m")
    assert texts(pruned(warm, wanted, BUDGET, NOW + timedelta(seconds=10))) == texts(warm)
    cold = texts(pruned(warm, wanted, BUDGET, NOW + timedelta(seconds=400)))
    assert sum(len(text) < 5000 for text in cold) == 16
    later = NOW + timedelta(seconds=400)
    grown = [*warm, unit(20, later)]
    assert texts(pruned(grown, wanted, BUDGET, later + timedelta(seconds=5)))[:20] == cold


def test_the_oldest_results_are_cleared_when_cutting_is_not_enough() -> None:
    small = ContextBudget.of(ResolvedModel("a", "b", context_window=20_000), ContextRules())
    wanted = rules(maxCharsPerToolResult=4000, minPrunableToolChars=10_000, hardClearRatio=0.5)
    shown = texts(pruned(units(20), wanted, small, NOW))
    cleared = [text.startswith("[Old result cleared") for text in shown]
    assert cleared[0]
    assert cleared == sorted(cleared, reverse=True)
    assert not any(cleared[-4:])
    kept = rules(maxCharsPerToolResult=4000, minPrunableToolChars=10_000, hardClear={"enabled": False})
    assert not any("cleared" in text for text in texts(pruned(units(20), kept, small, NOW)))


@pytest.mark.parametrize(
    ("name", "allow", "deny", "expected"),
    [
        ("read", (), (), True),
        ("read", ("web_*",), (), False),
        ("web_fetch", ("web_*",), (), True),
        ("web_fetch", ("*",), ("WEB_fetch",), False),
        ("read", (), ("mail__*",), True),
    ],
)
def test_which_tools(name: str, allow: tuple[str, ...], deny: tuple[str, ...], expected: bool) -> None:
    assert may_prune(name, PrunableTools(allow=allow, deny=deny)) is expected
