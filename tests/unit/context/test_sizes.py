"""How the window is divided, and how one result is cut."""

from __future__ import annotations

import base64
import json
import os

import pytest

from colleague.agent.context.budget import ContextBudget
from colleague.agent.context.fit import _learned_window
from colleague.agent.context.result_text import result_text
from colleague.agent.context.rules import ContextRules
from colleague.agent.context.tokens import text_tokens
from colleague.agent.exits import Failed
from colleague.agent.models.resolved import ResolvedModel
from colleague.config.context import CompactionSettings


def budget(window: int | None, rules: ContextRules | None = None, **model: int) -> ContextBudget:
    resolved = ResolvedModel("a", "b", base_url="http://x", context_window=window, **model)
    return ContextBudget.of(resolved, rules or ContextRules())


def test_reserves_are_clamped_to_a_quarter_a_half_and_a_third() -> None:
    small = budget(8_000)
    assert (small.room, small.keep_recent, small.limit) == (2_000, 4_000, 6_000)
    assert text_tokens("x" * small.result_chars) <= 8_000 / 3 + 1
    large = budget(200_000)
    assert (large.room, large.keep_recent, large.result_chars) == (20_000, 20_000, 100_000)


def test_room_for_the_longest_answer() -> None:
    assert budget(200_000, max_tokens=32_000).room == 32_000
    assert budget(40_000, max_tokens=32_000).room == 10_000


def test_a_flush_begins_before_the_limit() -> None:
    rules = ContextRules(has_memory=True)
    assert budget(200_000, rules).trigger == 200_000 - 20_000 - 4_000
    off = ContextRules(
        compaction=CompactionSettings.model_validate({"memoryFlush": {"enabled": False}}), has_memory=True
    )
    assert budget(200_000, off).trigger == 180_000


def test_nobody_knows_the_window() -> None:
    unknown = budget(None)
    assert (unknown.limit, unknown.trigger) == (None, None)


def test_a_window_that_is_too_small() -> None:
    with pytest.raises(Failed, match="can read 3,999 tokens, and an agent needs at least 4,000"):
        budget(3_999)
    assert budget(4_000).limit == 3_000


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", 75_000),
        ("This model's maximum context length is 8192 tokens. However, you requested 10240.", 8192),
        ("gpt-4o-2024-08-06: the input exceeds the limit", 75_000),
        ("at most 16,385 tokens", 16_385),
    ],
)
def test_a_refusal_tells_how_small_the_window_is(refusal: str, expected: int) -> None:
    assert _learned_window(refusal, 100_000) == expected


def test_json_is_cut_between_its_values() -> None:
    text = json.dumps([{"id": number, "name": f"item {number}"} for number in range(1000)])
    shown = result_text(text, 2000)
    assert len(shown) < 2200
    head, marker, tail = shown.partition("\n[... ")
    assert marker
    assert head.startswith("[\n {")
    assert head.splitlines()[-1].strip()[-1] in ',{["}' + "0123456789"
    assert tail.rstrip().endswith("]")
    assert result_text(text, len(text)) == text, "what fits stays as it is"


def test_bytes_are_summed_up() -> None:
    picture = b"\x89PNG\r\n" + os.urandom(3000)
    text = f"data:image/png;base64,{base64.b64encode(picture).decode()} and words"
    shown = result_text(text, 100_000)
    assert "[a PNG picture in base64, about 3,006 bytes, left out] and words" in shown
    raw = bytes(range(32)) * 100
    assert result_text(raw.decode("latin-1"), 100_000) == "[binary data, 3,200 characters, left out]"


def test_words_numbers_and_hashes_are_no_bytes() -> None:
    for text in ("a" * 500, "1" * 500, "deadbeef" * 50, "Lorem ipsum " * 100):
        assert result_text(text, 100_000) == text
