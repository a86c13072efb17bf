"""The line about a run that does not go on at the moment."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from colleague.cli.trouble_text import retry_line, status_word, trouble_line


def trouble(since: float, next_try: float) -> dict[str, Any]:
    """Times in seconds from now."""
    now = datetime.now(UTC)
    times = [(now + timedelta(seconds=each)).isoformat() for each in (since, next_try)]
    return {"text": "m answers 500 (busy)", "since": times[0], "next_try_at": times[1]}


@pytest.mark.parametrize(
    ("since", "next_try", "then"),
    [
        (-1, 8.4, "next try in 8 s"),
        (-60, -3, "asked again now"),
        (-90_000, -86_400, "asked again now"),
        (3600, 3608, "next try in 8 s"),
    ],
    ids=["as usual", "due", "clock set forward", "clock set back"],
)
def test_it_says_when_it_is_tried_again(since: float, next_try: float, then: str) -> None:
    assert trouble_line(trouble(since, next_try)) == f"m answers 500 (busy); {then}"


def test_the_words_of_a_provider_stay_on_one_line() -> None:
    line = retry_line({"text": "m answers 500 (\x1b[2J\nbusy)", "in_ms": 100}, "0000-1f3a9b52")
    assert re.fullmatch(r"[^\n\x1b]*\\x1b\[2J\\nbusy\); next try in 1 s; .*1f3a9b52.*", line)


def test_only_a_run_that_is_under_way_retries_its_model() -> None:
    found = trouble(-1, 8)
    running = {"trouble": found, "status": "running", "outcome": None}
    assert status_word(running) == "retrying model"
    assert status_word(running | {"status": "retrying"}) == "retrying"
    assert status_word({"trouble": None, "status": "done", "outcome": "failed"}) == "failed"
