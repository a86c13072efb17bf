"""The thread that writes traces: in order, with a limit, and never in anybody's way."""

from __future__ import annotations

import threading

import pytest

from colleague.agent.tracing.trace_writer import TraceWriter


def test_everything_is_done_in_order_before_it_is_closed() -> None:
    done: list[int] = []
    writer = TraceWriter()
    for number in range(1000):
        writer.put(lambda number=number: done.append(number))
    writer.close()
    assert done == list(range(1000))


def test_what_fails_is_said_once_and_the_next_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device", "a.jsonl")

    def broken() -> None:
        raise ValueError("no JSON")

    done: list[int] = []
    writer = TraceWriter()
    for job in (full, broken, full, broken, full, lambda: done.append(1)):
        writer.put(job)
    writer.close()
    assert done == [1]
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_what_cannot_be_written_fast_enough_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    go_on, done = threading.Event(), []
    writer = TraceWriter(most_waiting=5)
    writer.put(go_on.wait)  # type: ignore[arg-type]
    for _ in range(100):
        writer.put(lambda: done.append(1))
    go_on.set()
    writer.close()
    assert 1 <= len(done) <= 6
    assert capsys.readouterr().err.count("some lines are left out") == 1


def test_a_disk_that_hangs_holds_nobody_up() -> None:
    go_on = threading.Event()
    writer = TraceWriter()
    writer.put(go_on.wait)  # type: ignore[arg-type]
    writer.close(0.05)
    writer.put(lambda: None)
    go_on.set()
