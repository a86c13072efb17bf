"""`run fork`, as a person types it: the same on SQLite and on PostgreSQL, to the last word."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.experts.terminal import Terminal
from tests.integration.store import databases
from tests.office import call, finished, step

postgres_url = databases.postgres_url
DONE = finished("It is written.", steps=0, outputs={"count": 1})
STORY = (call("ledger.put", line="one"), step(1), call("ledger.append", line="two"), step(2), DONE)


@pytest.fixture
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[list[Terminal]]:
    """One home on SQLite, one on PostgreSQL."""
    with databases.new_database(request.getfixturevalue("postgres_url")) as url:
        places = [(tmp_path / "sqlite", ""), (tmp_path / "postgresql", url)]
        yield [Terminal.open(*place) for place in places]


def story(terminal: Terminal) -> None:
    """Once for real and with a yes of its own, once with another model, once as a dry run."""
    assert terminal.run(*STORY).code == 4
    assert terminal.printed("approve").code == 0
    original = terminal.last()["id"]
    ending = original[-8:]

    said = terminal.type("run", "fork", ending, "--from-step", "2")
    assert (said.code, terminal.book) == (4, ["one", "two"]), said.err
    assert "ledger.put" not in said.err
    assert terminal.printed("approve").code == 0
    assert terminal.book == ["one", "two", "two"]
    first = terminal.last()
    assert (first["outcome"], first["forked_from"]) == ("completed", {"id": original, "step": 2})
    assert (first["version"], first["inputs"]) == ("1.0.0", {"mail": "m-1"})

    other = terminal.play({"text": "?"}, {"text": "?"}, step(2, "skipped", "not today"), DONE, name="other")
    said = terminal.type("run", "fork", ending, "--from-step", "2", "--model", other)
    assert (said.code, "It is written." in said.out) == (0, True), said.err
    second = terminal.last()
    assert second["model"] == other
    assert [(each["status"], each["note"]) for each in second["steps"]][1] == ("skipped", "not today")

    said = terminal.type("run", "fork", first["id"], "--from-step=2", "--dry-run")
    assert said.code == 0, said.err
    third = terminal.last()
    assert (third["dry_run"], third["forked_from"]["id"]) == (True, first["id"])
    assert terminal.book == ["one", "two", "two"]

    shown = terminal.type("run", "show", original).out
    assert f"forks: {first['id'][-8:]} (step 2), {second['id'][-8:]} (step 2)" in shown
    shown = terminal.type("run", "show", first["id"]).out
    assert f"forked from {ending}, step 2" in shown
    assert f"finished in run {ending}" in shown
    listed = terminal.type("run", "list").out
    assert f"completed (fork of {ending})" in listed
    assert f"completed (dry run, fork of {first['id'][-8:]})" in listed
    noted = terminal.type("audit", "list", "--action", "run.fork", "--json").json
    assert [each["subject"] for each in noted] == [first["id"], original, original]
    assert {each["source"] for each in noted} == {"command"}
    refusals(terminal, ending)


def refusals(terminal: Terminal, ending: str) -> None:
    said = terminal.type("run", "fork", ending, "--from-step", "3")
    assert (said.code, said.out) == (2, "")
    assert f"run {ending} has no step 3: there are steps 1 to 2" in said.err
    assert f"colleague run show {ending}" in said.err
    said = terminal.type("run", "fork", "ffffffff", "--from-step", "1")
    assert (said.code, "there is no run 'ffffffff'" in said.err) == (1, True)
    said = terminal.type("run", "fork", ending, "--from-step", "1", "--model", "nobody/nothing")
    assert said.code == 1, said.err

    terminal.run(call("ledger.put", line="three"), step(1, "failed", "no ink"))
    failed = terminal.last()["id"][-8:]
    said = terminal.type("run", "fork", failed, "--from-step", "2")
    assert said.code == 1
    assert (
        f"run {failed} never reached step 2: the last one it reached is step 1 (Look at the book)" in said.err
    )
    assert f"colleague run fork {failed} --from-step 1" in said.err


def test_a_story_of_forks(pair: list[Terminal]) -> None:
    for terminal in pair:
        story(terminal)
    one, other = pair
    assert one.alike() == other.alike()
    assert one.book == other.book


def test_killed_right_after_it_was_accepted(tmp_path: Path) -> None:
    terminal = Terminal.open(tmp_path)
    terminal.run(*STORY)
    terminal.printed("approve")
    original = terminal.last()["id"]

    killed = terminal.colleague(
        "run", "fork", original, "--from-step", "2", COLLEAGUE_FAILPOINT="fork.accepted"
    )
    assert killed.code == -signal.SIGKILL
    fork = terminal.last()
    assert (fork["status"], fork["forked_from"]["id"]) == ("queued", original)
    assert [each["status"] for each in fork["steps"]] == ["done", "open"]

    said = terminal.type("run", "resume", fork["id"])
    assert (said.code, terminal.book) == (4, ["one", "two"]), said.err
    assert terminal.printed("approve").code == 0
    assert terminal.book == ["one", "two", "two"]
