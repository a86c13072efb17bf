"""Models that think aloud, say nothing, or leave tags open: what a person gets to see of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Colleague, Said
from tests.office import Office, call

TAGGED = "<think>A secret plan.</think>draft <final>It is done. [[media:a.png]]</final> after"
LOOKS = call("ls", path=".")


@pytest.fixture
def office(colleague: Colleague) -> Office:
    return Office.open(colleague)


def turn(office: Office, *replies: dict[str, Any]) -> Said:
    office.colleague("session", "reset", "main")
    return office.colleague("agent", "go", "--model", office.play(*replies))


def test_the_answer_is_on_stdout_and_nothing_else_of_what_the_model_said(office: Office) -> None:
    answered = turn(office, {"text": TAGGED})
    assert (answered.code, answered.out) == (0, "It is done.\n")
    assert "secret" not in answered.err
    assert "media: a.png" in answered.err
    shown = office.colleague.ok("session", "show").out
    assert "~ A secret plan." in shown
    assert "<think>" not in shown
    raw = office.colleague.ok("session", "export-trajectory", "main").out
    assert "<think>" in raw
    result = office.last_run()["result"]
    assert [(each["text"], each["media"]) for each in result["payloads"]] == [("It is done.", ["a.png"])]


def test_an_empty_answer_is_said_in_a_sentence(office: Office) -> None:
    for reply in ({"text": "<think>only this</think>"}, {"thinking": "only this"}, {"text": ""}):
        answered = turn(office, reply)
        assert (answered.code, answered.out) == (0, "")
        assert "the answer of the model is empty" in answered.err
    silent = turn(office, {"text": "<final>NO_REPLY</final>"})
    assert (silent.code, silent.out) == (0, "")
    assert "nothing is shown: the agent answered NO_REPLY" in silent.err


def test_reasoning_and_verbose_are_chosen_in_the_chat(office: Office) -> None:
    replies = [LOOKS, {"text": TAGGED}]
    colleague = office.colleague
    colleague.ok("session", "set", "main", "--model", office.play(*(replies * 4)))
    lines = ("/verbose off", "one", "/reasoning on", "/verbose full", "two", "/reasoning stream", "three")
    talked = colleague("chat", stdin="".join(f"{line}\n" for line in lines))
    assert talked.code == 0
    assert talked.out.count("It is done.") == 3
    assert "draft" not in talked.out + talked.err
    first, _, later = talked.err.partition("    │ ")
    assert "~ A secret plan." not in first
    assert later.count("~ A secret plan.") == 2
    assert "    │ " in talked.err
    assert talked.err.count("    ls") == 2
