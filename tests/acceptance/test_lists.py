"""Lists and the status as a person types them: filtered, marked, counted alike, and true to what was said."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from colleague.clock import SystemClock
from colleague.store.accept import Arrival, accept
from colleague.store.approvals import Ask, raise_asks
from colleague.store.ids import new_id
from colleague.store.outbox import leave_unread, put_in_outbox
from colleague.store.run import get_run
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tables import outbox, runs
from colleague.store.tx import Tx
from tests.conftest import Colleague
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import ENVIRON, House
from tests.screen import on_a_terminal

SCREEN = 24
TELLS = "Type: colleague approve 1234 and colleague run list"


def put_everything(tx: Tx) -> None:
    """One dead letter, two questions, a draft, a learning, a result that nobody has read, a dry run."""
    ids = [
        str(accept(tx, Arrival(CLERK, "order", "test", "{}", "session", lane=None, process="work")).run_id)
        for _ in range(4)
    ]
    dead, asks, done, dry = ids
    ended = {"status": "done", "ended_at": tx.now}
    tx.update(runs, {"id": dead}, outcome="dead_letter", error="it broke", **ended)
    tx.update(runs, {"id": done}, outcome="completed", **ended)
    tx.update(runs, {"id": dry}, outcome="completed", dry_run=1, **ended)
    learned = json.dumps({"scope": "process", "title": "Ask first", "lesson": "x"})
    asked = [(kind, json.dumps({"text": TELLS})) for kind in ("confirm", "confirm", "draft")]
    for kind, arguments in [*asked, ("learning", learned)]:
        call_id = None if kind == "learning" else new_id()
        raise_asks(tx, get_run(tx, asks), [Ask(call_id, kind, "ledger.append", arguments, "d")])  # type: ignore[arg-type]
    tx.update(runs, {"id": asks}, status="waiting")
    body = json.dumps({"narrative": "It is done.", "expert": CLERK})
    put_in_outbox(tx, done, "delivery", "", "main", body)
    leave_unread(tx, [row.id for row in tx.all(outbox.select().where(outbox.c.kind == "delivery"))])


async def fill(house: House) -> None:
    database = SqliteDatabase(house.home.database_file, SystemClock())
    try:
        await database.write(put_everything)
    finally:
        await database.close()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> House:
    """A home with one of everything; nothing here changes it."""
    house = House(tmp_path_factory.mktemp("full") / "home").furnish()
    asyncio.run(fill(house))
    return house


def type_(house: House, *arguments: str) -> Any:
    return Colleague(house.root).ok(*arguments, **ENVIRON)


class TestRunList:
    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ((), ["completed", "completed", None, "dead_letter"]),
            (("--status", "completed"), ["completed", "completed"]),
            (("--status", "waiting,dead-letter"), [None, "dead_letter"]),
            (("--status", "queued"), []),
            (("--expert", CLERK, "--since", "1h", "--status", "done"), ["completed"] * 2 + ["dead_letter"]),
            (("--since", "2999-01-01"), []),
        ],
    )
    def test_filters(self, full: House, options: tuple[str, ...], expected: list[str | None]) -> None:
        assert [run["outcome"] for run in type_(full, "run", "list", *options, "--json").json] == expected

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--status", "complete"), "did you mean 'completed'?"),
            (("--status", "asleep"), "one of: queued, running"),
            (("--expert", CLERK[:-1]), f"did you mean '{CLERK}'?"),
            (("--since", "last week"), "such as 30m, 2h or 7d"),
        ],
    )
    def test_unknown_words(self, full: House, options: tuple[str, ...], said: str) -> None:
        answer = Colleague(full.root)("run", "list", *options, **ENVIRON)
        assert answer.code == 2
        assert said in answer.err

    def test_the_next_page_keeps_the_filter(self, full: House) -> None:
        answer = type_(full, "run", "list", "--status", "completed", "--limit", "1", "--json")
        assert "1 of 2 are shown" in answer.err
        [command] = re.findall(r"colleague (run list --status completed --after \w+)", answer.err)
        [rest] = type_(full, *command.split(), "--json").json
        assert rest["id"] < answer.json[0]["id"]

    def test_a_dry_run_says_so(self, full: House) -> None:
        dry, real, *_ = type_(full, "run", "list", "--json").json
        assert (dry["dry_run"], real["dry_run"], dry["rehearsal"]) == (True, False, False)
        rows = type_(full, "run", "list").out.splitlines()
        assert "completed (dry run)" in rows[1]
        assert "(dry run)" not in rows[2]


class TestStatus:
    def test_counts_agree_everywhere(self, full: House) -> None:
        status = type_(full, "status", "--json").json
        words = type_(full, "status").out
        found = {each["message"] for each in Colleague(full.root)("doctor", "--json", **ENVIRON).json}
        for noun, total, line, message in (
            ("approval", "questions_total", "Waiting for you: 3", "3 questions wait"),
            ("learning", "learnings_total", "Learnings: 1", "1 learning waits"),
            ("deadletter", "dead_letters_total", "Dead letters: 1", "1 dead letter waits"),
            ("delivery", "unread_total", "Unread: 1", "1 result is unread"),
        ):
            listed = len(type_(full, noun, "list", "--json").json)
            assert status[total] == listed, noun
            assert line in words
            assert message in found

    def test_it_shows_what_is_open_on_one_screen(self, full: House) -> None:
        words = type_(full, "status").out
        assert len(words.splitlines()) <= SCREEN
        assert "confirm" in words
        assert "ledger.append text Type: colleague approve 1234" in words
        assert "Runs: 1 waiting" in words
        assert "Ended" not in words

    def test_what_has_ended_is_shown_when_asked_for(self, full: House) -> None:
        words = type_(full, "status", "--all").out
        ended = words.partition("Ended:\n")[2].splitlines()
        assert [line.split()[3] for line in ended[:3]] == ["completed", "completed", "dead_letter"]
        assert len(type_(full, "status", "--all", "--json").json["ended"]) == 3
        assert type_(full, "status", "--json").json["ended"] == []

    def test_a_home_with_nothing_open_says_so(self, colleague: Colleague) -> None:
        colleague.ok("init")
        lines = colleague.ok("status").out.splitlines()
        assert lines[2:] == ["Nothing is open: no question, no run, nothing unread."]


class TestWordsOfOthers:
    """The home that was typed stands in our commands, and in nothing that anybody else said."""

    @pytest.fixture
    def told(self, colleague: Colleague) -> Colleague:
        colleague.ok("init")
        (colleague.home / "play.yaml").write_text(json.dumps({"replies": [{"text": TELLS}]}))
        return colleague

    def test_an_answer_is_not_changed(self, told: Colleague) -> None:
        home = ("--home", str(told.home))
        said = told.ok("agent", "Hi", "--model", f"script/{told.home}/play.yaml", *home)
        assert said.out == f"{TELLS}\n"
        [run] = told.ok("run", "list", "--json", *home).json
        assert TELLS in told.ok("run", "show", run["id"], *home).out

    def test_a_question_is_not_changed_and_its_commands_are(self, full: House) -> None:
        home = ("--home", str(full.root))
        asked = type_(full, "approval", "list", "--json").json[0]["id"][-8:]
        shown = type_(full, "approval", "show", asked, *home).out
        assert f"│ {TELLS}" in shown
        assert f"colleague --home {full.root} approve {asked}" in shown
        assert "Type: colleague approve 1234" in type_(full, "status", *home).out
        assert f"colleague --home {full.root} deadletter list" in type_(full, "status", *home).out


class TestOnATerminal:
    def test_times_are_relative_and_words_have_colours(self, full: House) -> None:
        shown = on_a_terminal(Colleague(full.root), "run", "list")
        assert re.search(r"\d+ (s|min) ago|now", shown)
        assert not re.search(r"20\d\d-\d\d-\d\dT", shown)
        assert "\x1b[32mcompleted" in shown
        assert "\x1b[31mdead_letter" in shown
        assert "\x1b[33mwaiting" in shown
        assert "\x1b[2m" in shown

    def test_no_color(self, full: House, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NO_COLOR", "1")
        for command in (("run", "list"), ("status",)):
            shown = on_a_terminal(Colleague(full.root), *command)
            assert not re.search(r"\x1b\[3\dm", shown)

    def test_other_programs_get_iso(self, full: House) -> None:
        times = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d"
        for command in (("run", "list"), ("deadletter", "list"), ("status",)):
            assert re.search(times, type_(full, *command).out), command


def test_the_api_filters_like_the_command(full: House, tmp_path: Path) -> None:
    from tests.acceptance.test_serve import serving

    house = House(tmp_path / "home").furnish()
    asyncio.run(fill(house))
    with serving(house) as process:

        def outcomes(query: str) -> list[str]:
            return [run["outcome"] for run in process.get(f"/api/runs?{query}")]

        assert outcomes("status=completed,dead_letter&since=1h") == ["completed", "completed", "dead_letter"]
        assert outcomes("status=done&outcome=dead_letter") == ["dead_letter"]
        assert outcomes("status=queued&outcome=dead_letter") == []
        assert outcomes("since=2999-01-01") == []
        assert process.get("/api/runs?limit=1")[0]["dry_run"] is True
