"""What serve prints: a line each, harmless, and never so much that it floods or holds up the work."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from colleague import activity
from colleague.terminal_log import LONGEST, MOST_OF_A_KIND, MOST_WAITING, TerminalLog, printing_activity


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    try:
        yield reading, writing
    finally:
        for each in (reading, writing):
            with suppress(OSError):
                os.close(each)


def printed(*told: str, as_json: bool = False) -> list[str]:
    with pipe() as (reading, writing):
        with printing_activity(writing, as_json=as_json) as lines:
            lines.begin()
            for text in told:
                activity.tell("test", text, run="r-1")
        os.close(writing)
        with os.fdopen(os.dup(reading), "rb") as stream:
            return stream.read().decode().splitlines()


def test_a_line_has_the_time_and_the_text() -> None:
    [line] = printed("run 1f3a started")
    clock, text = line.split(" ", 1)
    assert time.strptime(clock, "%H:%M:%S")
    assert text == "run 1f3a started"


def test_json_has_the_fields() -> None:
    [line] = printed("run 1f3a started", as_json=True)
    found = json.loads(line)
    assert (found["kind"], found["text"], found["run"]) == ("test", "run 1f3a started", "r-1")
    assert found["at"].endswith("Z")


def test_the_words_of_others_stay_on_one_line_and_do_nothing() -> None:
    [line] = printed("a\x1b[2J\nb\u202e sk-0123456789abcdefghij " + "x" * 5000)
    assert "\\x1b[2J\\nb\\u202e" in line
    assert "sk-0123" not in line
    assert len(line) < LONGEST + 20


def test_a_flood_is_counted() -> None:
    lines = printed(*(f"event {number}" for number in range(5000)))
    assert len(lines) == MOST_OF_A_KIND + 1
    assert f"{5000 - MOST_OF_A_KIND} more of these in the last" in lines[-1]


def test_a_pipe_that_nobody_reads_holds_up_nothing() -> None:
    with pipe() as (reading, writing):
        began = time.monotonic()
        with printing_activity(writing, as_json=False) as lines:
            lines.begin()
            for number in range(MOST_WAITING * 2):
                activity.log.info(f"kind {number}", extra={"activity": {"text": "x" * 300}})
        assert time.monotonic() - began < 100
        os.read(reading, 1 << 20)  # lets the writer go


def test_a_reader_who_has_gone_costs_only_the_lines() -> None:
    with pipe() as (reading, writing):
        os.close(reading)
        with printing_activity(writing, as_json=False) as lines:
            lines.begin()
            activity.tell("test", "one")
            time.sleep(0.05)
            activity.tell("test", "two")


def test_nothing_is_told_when_nobody_prints() -> None:
    assert not activity.is_on()


def test_nothing_is_written_before_the_first_line_of_the_command() -> None:
    with pipe() as (reading, writing):
        lines = TerminalLog(writing)
        lines.emit(logging.LogRecord("colleague.x", logging.WARNING, "", 0, "early", (), None))
        os.set_blocking(reading, False)
        with pytest.raises(BlockingIOError):
            os.read(reading, 100)
        lines.begin()
        os.set_blocking(reading, True)
        assert b"! early" in os.read(reading, 100)
        lines.close()


def test_our_warnings_are_printed_too() -> None:
    with pipe() as (reading, writing):
        with printing_activity(writing, as_json=False) as lines:
            lines.begin()
            logging.getLogger("colleague.test").warning("disk is %s", "full")
        assert b" ! disk is full\n" in os.read(reading, 1000)


def test_a_warning_that_has_a_line_of_its_own_is_not_printed_again() -> None:
    with pipe() as (reading, writing):
        with printing_activity(writing, as_json=False) as lines:
            lines.begin()
            logging.getLogger("colleague.test").warning("run 1f3a failed", extra=activity.PRINTED)
            activity.tell("run failed", "run 1f3a failed")
        os.close(writing)
        with os.fdopen(os.dup(reading), "rb") as stream:
            assert len(stream.read().decode().splitlines()) == 1
