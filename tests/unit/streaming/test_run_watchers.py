"""Who begins to follow a run in the middle of an answer."""

from __future__ import annotations

from typing import Any

from colleague.agent.events import EventBus
from colleague.run_event import Kind, RunEvent
from colleague.runtime.run_events import MOST_ANSWERS, RunWatchers


def heard_late(*told: tuple[Kind, dict[str, Any]]) -> list[tuple[Kind, dict[str, Any]]]:
    """What stands in the queue of one who comes after all this was told of run r."""
    bus = EventBus()
    watchers = RunWatchers(bus)
    for kind, data in told:
        bus.tell(kind, "r", **data)
    with watchers.watching("r") as queue:
        found = [queue.get_nowait() for _ in range(queue.qsize())]
    return [(event.kind, event.data) for event in found if isinstance(event, RunEvent)]


START: tuple[Kind, dict[str, Any]] = ("message_start", {"turn": 1})


def said(text: str, **more: Any) -> tuple[Kind, dict[str, Any]]:
    return "message_update", {"text": text, **more}


def test_has_its_beginning() -> None:
    thought: tuple[Kind, dict[str, Any]] = ("message_update", {"thinking": "Hm."})
    assert heard_late(START, thought, said("One "), said("two")) == [START, thought, said("One two")]


def test_has_nothing_of_an_answer_that_is_complete() -> None:
    assert heard_late(START, said("One"), ("message_end", {"text": "One"})) == []


def test_has_what_the_model_says_when_it_is_asked_again() -> None:
    assert heard_late(START, said("One"), ("message_retry", {}), said("Uno")) == [START, said("Uno")]


def test_has_nothing_that_is_void() -> None:
    assert heard_late(START, said("draft"), said("Proper", void=True)) == [START, said("Proper")]


def test_runs_that_tell_no_end_are_forgotten() -> None:
    bus = EventBus()
    watchers = RunWatchers(bus)
    for number in range(MOST_ANSWERS + 1):
        bus.tell("message_start", f"r{number}", turn=1)
    with watchers.watching("r0") as first, watchers.watching("r1") as second:
        assert (first.qsize(), second.qsize()) == (0, 1)
