"""`expert run` without a gateway: the same on SQLite and on PostgreSQL, to the last word."""

from __future__ import annotations

import json
import re
import shlex
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.forked import forked_command
from tests.integration.experts.terminal import Terminal
from tests.integration.store import databases
from tests.office import call, finished, step

postgres_url = databases.postgres_url
DONE = finished("Both lines are settled.", outputs={"count": 2})


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal.open(tmp_path)


@pytest.fixture
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[list[Terminal]]:
    """One home on SQLite, one on PostgreSQL."""
    with databases.new_database(request.getfixturevalue("postgres_url")) as url:
        places = [(tmp_path / "sqlite", ""), (tmp_path / "postgresql", url)]
        yield [Terminal.open(*place) for place in places]


def on_both(pair: list[Terminal], story: Callable[[Terminal], None]) -> None:
    """Plays a story on both databases and compares every word."""
    for terminal in pair:
        story(terminal)
    one, other = pair
    assert one.alike() == other.alike()
    assert one.book == other.book


def test_every_command_a_process_of_its_own(pair: list[Terminal]) -> None:
    def story(terminal: Terminal) -> None:
        terminal.processes = True
        said = terminal.run(step(1), call("ledger.append", line="one"), step(2), DONE)
        assert (said.code, said.out, terminal.book) == (4, "", [])
        said = terminal.printed("approve")
        assert (said.code, terminal.book) == (0, ["one"])
        assert "Both lines are settled." in said.out

    on_both(pair, story)


def test_a_story_of_questions(pair: list[Terminal]) -> None:
    """A yes, an answer in the person's own words, a draft; each by the command that was printed."""

    def story(terminal: Terminal) -> None:
        said = terminal.run(
            step(1),
            call("ledger.append", "The first line.", line="one"),
            call("ledger.append", "The second line.", line="two"),
            call("ledger.fail", line="a draft"),
            step(2),
            DONE,
        )
        assert said.code == 4, said.err
        assert "waits for you:" in said.err
        assert "why  │ The first line." in said.err
        assert said.out == ""
        assert terminal.book == []

        said = terminal.printed("approve")
        assert said.code == 4, said.err
        assert terminal.book == ["one"]

        said = terminal.printed("respond", TEXT="I wrote it myself")
        assert said.code == 0, said.err
        assert "Both lines are settled." in said.out
        assert terminal.book == ["one"]

        document = terminal.last()
        assert (document["outcome"], document["outputs"]) == ("completed", {"count": 2})
        assert [each["status"] for each in document["steps"]] == ["done", "done"]
        assert document["delivery"]["status"] == "delivered"
        [draft] = terminal.type("approval", "list", "--json").json
        assert draft["kind"] == "draft"
        assert terminal.type("done", draft["id"], "--result", '{"sent": true}').code == 0
        assert terminal.type("approve", draft["id"]).code == 1
        assert len(terminal.type("approval", "list", "--all", "--json").json) == 3
        assert terminal.type("status").code == 0
        assert terminal.type("run", "show", document["id"]).code == 0

    on_both(pair, story)


def test_a_story_of_troubles(pair: list[Terminal]) -> None:
    """A doubt, a server that dies under a call, a no, a second try, a cancel; all by printed commands."""

    def story(terminal: Terminal) -> None:
        doubt = call("function_result", function="judge", outputs={"confidence": "low"})
        said = terminal.run(doubt, call("ledger.put", line="one"), call("ledger.append", line="die"), DONE)
        assert (said.code, "low_confidence" in said.err) == (4, True)
        said = terminal.printed("approve")
        assert (said.code, "confirm" in said.err) == (4, True)
        said = terminal.printed("approve")
        assert (said.code, "uncertain" in said.err) == (4, True), said.err
        said = terminal.type(*_command(said.err, "resolve", "happened"))
        assert said.code == 0, said.err
        assert terminal.book == ["one"]

        terminal.run(call("ledger.append", line="two"), call("ledger.append", line="three"), DONE)
        said = terminal.printed("reject", WHY="not today")
        assert said.code == 1
        assert "ledger.append was rejected by" in said.err
        document = terminal.last()
        assert (document["outcome"], document["notices"][-1]["kind"]) == ("failed", "escalation")
        advice = document["notices"][-1]["body"]["recommendation"]
        said = terminal.type(*_command(advice, "run retry"))
        assert said.code == 4, said.err
        assert terminal.type("run", "cancel", document["id"]).code == 0
        assert terminal.type("run", "cancel", document["id"]).code == 1
        assert terminal.last()["outcome"] == "cancelled"
        assert terminal.type("approval", "list", "--json").json == []
        assert terminal.book == ["one"]

    on_both(pair, story)


def _command(words: str, *parts: str) -> list[str]:
    """The arguments of a printed command that has these parts in it."""
    found = re.findall(r"colleague ([\w -]+)", words)
    [command] = [each for each in found if all(part in each for part in parts)]
    return shlex.split(command)


def test_what_stands_in_the_way_is_done_first_or_named(pair: list[Terminal]) -> None:
    def story(terminal: Terminal) -> None:
        said = terminal.run(DONE, options=("--no-wait", "--json"))
        assert set(said.json) == {"event_id", "run_id"}
        left = said.json["run_id"]
        assert (said.code, said.err) == (0, "")
        assert terminal.type("run", "show", left, "--json").json["status"] == "queued"

        said = terminal.run(call("ledger.append", line="one"), DONE, options=("--json",))
        assert (said.code, said.err) == (4, "")
        assert (said.json["status"], len(said.json["waiting_on"])) == ("waiting", 1)
        assert terminal.type("run", "show", left, "--json").json["outcome"] == "completed"

        said = terminal.run(DONE)
        assert said.code == 4
        assert "stands behind a run that waits for you" in said.err
        assert terminal.printed("approve").code == 0
        assert terminal.book == ["one"]
        assert terminal.last()["status"] == "queued"

        said = terminal.run(DONE, options=("--no-wait",))
        assert (said.code, "colleague run watch" in said.out) == (0, True)
        said = terminal.run(DONE)
        assert said.code == 0, said.err
        assert {each["outcome"] for each in terminal.type("run", "list", "--json").json} == {"completed"}

    on_both(pair, story)


def test_dead_letters(pair: list[Terminal]) -> None:
    def story(terminal: Terminal) -> None:
        terminal.update(execution={"on_failure": "dead_letter"})
        failed = step(1, "failed", "the book is closed")
        said = terminal.run(failed, failed, DONE)
        assert (said.code, "dead_letter: step 1 failed: the book is closed" in said.err) == (1, True)
        dead = terminal.last()
        ending = dead["id"][-8:]
        advice = f"next: colleague deadletter retry {ending}, or colleague deadletter drop {ending}"
        assert advice in said.err
        assert advice in terminal.type("run", "show", ending).out
        assert [each["id"] for each in terminal.type("deadletter", "list", "--json").json] == [dead["id"]]
        shown = terminal.type("deadletter", "show", dead["id"][-8:]).out
        assert "error: step 1 failed: the book is closed" in shown
        advice = dead["notices"][-1]["body"]["recommendation"]
        assert terminal.type(*_command(advice, "deadletter retry")).code == 1
        said = terminal.type("deadletter", "retry", dead["id"], "--input", "mail=m-2")
        assert said.code == 0, said.err
        again = terminal.last()
        assert (again["id"], again["inputs"], len(again["attempts"])) == (dead["id"], {"mail": "m-2"}, 3)
        assert terminal.type("deadletter", "list").out == "There are no dead letters.\n"
        assert terminal.type("deadletter", "drop", dead["id"]).code == 1

        terminal.run(failed)
        dead = terminal.last()
        assert terminal.type("deadletter", "drop", dead["id"]).code == 0
        assert terminal.last()["outcome"] == "abandoned"

    on_both(pair, story)


LESSON = call(
    "propose_learning",
    scope="package",
    title="Mondays",
    observation="The book is closed",
    correction="Write on Tuesdays",
    confidence="high",
)


def test_learnings(pair: list[Terminal]) -> None:
    def story(terminal: Terminal) -> None:
        terminal.update(learning={"enabled": True})
        assert terminal.run(LESSON, LESSON, DONE).code == 0
        one, two = terminal.type("learning", "list", "--json").json
        assert terminal.type("approval", "list", "--json").json == []
        shown = terminal.type("learning", "show", one["id"][-8:])
        assert (shown.code, one["arguments"]["title"] in shown.out) == (0, True)
        ending = one["id"][-8:]
        assert f"id            {one['id']}\n" in shown.out
        assert f"colleague learning approve {ending}, or colleague learning reject {ending}" in shown.out
        assert terminal.type("learning", "show", one["id"], "--json").json["arguments"] == one["arguments"]
        assert terminal.type("learning", "approve", one["id"]).code == 0
        assert terminal.type("learning", "reject", two["id"], "--note", "twice").code == 0
        assert terminal.type("learning", "approve", two["id"]).code == 1
        assert terminal.learned.count("Write on Tuesdays") == 1
        assert "Write on Tuesdays" in terminal.type("expert", "prompt", "clerk").out

    on_both(pair, story)


@pytest.mark.parametrize("point", ["outbox.started", "outbox.sent"])
def test_a_learning_is_written_once_when_the_process_dies(terminal: Terminal, point: str) -> None:
    terminal.update(learning={"enabled": True})
    assert terminal.run(LESSON, DONE).code == 0
    [proposal] = terminal.type("learning", "list", "--json").json
    died = terminal.colleague("learning", "approve", proposal["id"], COLLEAGUE_FAILPOINT=point)
    assert died.code == -9
    assert terminal.learned.count("Write on Tuesdays") == (1 if point == "outbox.sent" else 0)
    assert terminal.type("learning", "approve", proposal["id"]).code == 1
    assert terminal.run(DONE).code == 0
    assert terminal.learned.count("Write on Tuesdays") == 1
    assert terminal.type("status", "--json").json["undelivered"] == 0


def test_a_task_in_words(pair: list[Terminal]) -> None:
    def story(terminal: Terminal) -> None:
        model = terminal.play(
            call("begin_process", process="work", inputs={"mail": "m-1"}),
            step(1),
            step(2),
            {"text": "It is Monday."},
        )
        said = terminal.type("expert", "run", "clerk", "Which day is it?", "--model", model)
        assert (said.code, said.out.strip()) == (0, "It is Monday."), said.err
        document = terminal.last()
        assert (document["process"], document["lane"]) == ("work", "clerk/session")
        assert document["inputs"] == {"mail": "m-1", "task": "Which day is it?"}

        said = terminal.type("expert", "run", "clerk", "And now?", "--model", "script/gone.yaml")
        assert (said.code, "gone.yaml" in said.err) == (1, True)

    on_both(pair, story)


WRONG = [
    (("--process", "wrok", "--input", "mail=m"), 1, "clerk has no process 'wrok'"),
    (("--process", "work"), 2, '"mail" is a required property'),
    (("--process", "work", "--input", "mail=m", "--input", "count=many"), 2, 'count: "many" is not of type'),
    (("--process", "work", "--input", "mial=m"), 2, "work has no input 'mial'"),
    (("--process", "work", "--input", "mail"), 2, "is no name=value"),
    (
        ("A task", "--process", "work", "--input", "mail=m"),
        2,
        "there is a task, 'A task', beside --process work",
    ),
    (("A task", "--input", "mail=m"), 2, "--input belongs to --process"),
    ((), 2, "say what to do"),
]


def test_what_cannot_be_asked_is_refused_and_leaves_nothing(terminal: Terminal) -> None:
    commands = [(("expert", "run", "clerk", *arguments), code, words) for arguments, code, words in WRONG]
    commands.append((("expert", "run", "clrek", "A task"), 1, "there is no expert 'clrek'"))
    answers = [terminal.type(*each[0], "--json") for each in commands]
    for (arguments, code, words), said in zip(commands, answers, strict=True):
        assert (said.code, said.out) == (code, ""), f"{arguments}: {said}"
        assert words in json.loads(said.err)["error"]["message"]
        assert "Traceback" not in said.err
    assert "did you mean" in answers[0].err
    assert "work takes: mail (string), count (integer)" in answers[1].err
    assert terminal.type("run", "list", "--json").json == []


def test_undelivered_is_seen_and_never_called_delivered(terminal: Terminal) -> None:
    terminal.update(delivery={"channel": "slack"})
    said = terminal.run(DONE)
    assert said.code == 0, said.err
    document = terminal.last()
    assert (document["outcome"], document["delivery"]["status"]) == ("completed", "failed")
    shown = terminal.type("run", "show", document["id"]).out
    assert "delivery to slack: failed: the channel 'slack' is not connected here" in shown
    status = terminal.type("status", "--json").json
    assert status["undelivered"] == 1
    assert status["delivered"] == []
    [waiting] = status["not_delivered"]
    assert (waiting["status"], waiting["channel"]) == ("failed", "slack")
    words = terminal.type("status").out
    assert "Not delivered yet: 1" in words
    assert "Both lines are settled." in words
    assert "delivered to slack" not in words


def test_two_processes_edit_one_file_and_lose_nothing(pair: list[Terminal]) -> None:
    """On PostgreSQL two commands work at the same time, each in a lane of its own."""
    terminal = pair[1]
    names = ("ann", "bob")
    running = [
        subprocess.Popen(
            forked_command("-m", "colleague", "expert", "run", "clerk", *_task(terminal, name)),
            env=terminal.colleague.environment({}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for each in running:
        _, errors = each.communicate(timeout=90)
        assert each.returncode == 0, errors
    lines = (terminal.state / "state" / "pipeline.md").read_text().splitlines()
    for name in names:
        mine = [line for line in lines if line.startswith(f"- {name} ")]
        assert mine == [f"- {name} {number}." for number in reversed(range(25))]


def _task(terminal: Terminal, name: str) -> list[str]:
    """Edits, many times; once as a process and once as a free task, so that the lanes differ."""
    edits = [
        call(
            "edit",
            path="state/pipeline.md",
            edits=[{"old": "## Movements", "new": f"## Movements\n\n- {name} {number}."}],
        )
        for number in range(25)
    ]
    model = terminal.play(call("read", path="state/pipeline.md"), *edits, DONE, name=name)
    process = ["--process", "work", "--input", f"mail={name}"] if name == "bob" else ["Edit it"]
    return [*process, "--model", model]


@pytest.mark.parametrize(
    ("option", "book", "first"),
    [
        ("--dry-run", ["one"], "Really called, with whatever they changed: ledger.put, ledger.look"),
        ("--dry-run=strict", [], "Really called, with whatever they changed: ledger.look"),
    ],
)
def test_a_strict_dry_run_sends_only_what_reads(
    terminal: Terminal, option: str, book: list[str], first: str
) -> None:
    replies = (call("ledger.put", line="one"), call("ledger.append", line="two"), call("ledger.look"), DONE)
    model = terminal.play(*replies)
    given = ("--process", "work", "--input", "mail=m-1", "--model", model)
    said = terminal.type("expert", "run", "clerk", *given, option)
    assert said.code == 0, said.err
    assert terminal.book == book
    head, told, *_ = said.out.splitlines()
    assert head.startswith("Dry run of work of clerk")
    assert told == first
    assert ("ledger.put (auto): simulated" in said.out) == (option != "--dry-run")
    assert "ledger.append (confirm): would ask first" in said.out
    assert terminal.last()["dry_run"] == ("strict" if "strict" in option else True)
    copies = terminal.colleague.home / "state" / "dry-runs"
    assert stat.S_IMODE(copies.stat().st_mode) == 0o700


def test_a_task_may_follow_a_dry_run(terminal: Terminal) -> None:
    model = terminal.play({"text": "Nothing to do."})
    said = terminal.type("expert", "run", "clerk", "--model", model, "--dry-run", "Look around")
    assert (said.code, said.out.strip()) == (0, "Nothing to do."), said.err
    said = terminal.type("expert", "run", "clerk", "Look around", "--dry-run=wet")
    assert (said.code, "strict" in said.err) == (2, True)
