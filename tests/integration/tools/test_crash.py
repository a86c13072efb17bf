"""Rule 20: killed anywhere in a write, the file and its versions end as if it had happened once."""

from __future__ import annotations

import json
import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.tool import ToolOutput
from colleague.store.versions import Author
from tests.integration.tools.desk import Desk, Session
from tests.integration.tools.processes import (
    SHARED,
    add_lines_with_a_journal,
    die_in_a_call,
    read_journal,
)

PIPELINE = "state/pipeline.md"
TEXT = "# Pipeline\n\n- Ada\n- Bob\n"
EVE = TEXT.replace("Ada", "Eve")

NOT_RECORDED = ("file.version.before", "commit.before")
RECORDED = ("commit.after", "file.version.after", "file.rename.before")
DONE = ("file.rename.after",)
EVERYWHERE = NOT_RECORDED + RECORDED + DONE


@dataclass(frozen=True)
class Attempt:
    """A call, and what the file has before and after it."""

    tool: str
    path: str
    arguments: dict[str, Any]
    before: str | None
    after: str

    @property
    def all_arguments(self) -> dict[str, Any]:
        return {"path": self.path} | self.arguments

    def die(self, desk: Desk, failpoint: str) -> str:
        """The call is prepared, begun, and killed; returns what was prepared."""
        prepared = desk.run(lambda session: session.prepare(self.tool, call_id="c1", **self.all_arguments))
        process = desk.start_process(die_in_a_call, failpoint, self.tool, "c1", self.all_arguments)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        return prepared

    async def check(self, session: Session, failpoint: str, prepared: str) -> None:
        """All that must hold after the crash, after the recovery, and after another one."""
        file = session.desk.file(self.path)
        recorded = [version.text for version in await session.versions(self.path)]
        assert (self.after in recorded) is (failpoint not in NOT_RECORDED)
        left = file.read_text() if file.exists() else None
        assert left == (self.after if failpoint in DONE else self.before)
        for _ in range(2):
            output = await session.recover(self.tool, prepared, call_id="c1", **self.all_arguments)
            assert not output.is_error
            assert f"{self.path} is written: version" in output.text
            assert "since" not in output.text
            assert file.read_text() == self.after
        versions = await session.versions(self.path)
        assert [version.text for version in versions] == ([self.before] if self.before else []) + [self.after]
        assert versions[-1].author == Author("run-1", "c1")
        assert await session.pending(self.path) is None
        assert not [each for each in file.parent.iterdir() if each.name.startswith(".")]

    def recover(self, desk: Desk, prepared: str) -> ToolOutput:
        return desk.run(
            lambda session: session.recover(self.tool, prepared, call_id="c1", **self.all_arguments)
        )


EDIT = Attempt("edit", PIPELINE, {"edits": [{"old": "Ada", "new": "Eve"}]}, TEXT, EVE)
OVER = Attempt("write", PIPELINE, {"text": "all new\n"}, TEXT, "all new\n")
NEW = Attempt("write", "scratch/deep/new.md", {"text": "new\n"}, None, "new\n")


@pytest.mark.parametrize("failpoint", EVERYWHERE)
@pytest.mark.parametrize("attempt", [EDIT, OVER, NEW], ids=["edit", "over", "new"])
def test_recovered_as_if_it_had_happened_once(desk: Desk, attempt: Attempt, failpoint: str) -> None:
    if attempt is OVER:
        desk.call("read", path=PIPELINE)
    prepared = attempt.die(desk, failpoint)
    desk.run(lambda session: attempt.check(session, failpoint, prepared))


@pytest.mark.parametrize("failpoint", EVERYWHERE)
def test_reconciled_at_start(desk: Desk, failpoint: str) -> None:
    """Nobody recovers the call: its run was cancelled. What is recorded is in the file all the same."""
    EDIT.die(desk, failpoint)
    done = desk.run(lambda session: session.reconcile())
    assert [(each.path, each.problem) for each in done] == (
        [] if failpoint in NOT_RECORDED else [(PIPELINE, "")]
    )
    assert desk.file(PIPELINE).read_text() == (TEXT if failpoint in NOT_RECORDED else EVE)
    assert desk.run(lambda session: session.pending(PIPELINE)) is None
    assert desk.run(lambda session: session.reconcile()) == []


class TestAPersonInBetween:
    """Someone saves the file after the crash and before anything is recovered."""

    BY_HAND = TEXT + "- Zoe, by a person\n"

    @pytest.mark.parametrize("failpoint", NOT_RECORDED)
    def test_not_recorded_is_an_error_with_the_text(self, desk: Desk, failpoint: str) -> None:
        prepared = EDIT.die(desk, failpoint)
        desk.file(PIPELINE).write_text(self.BY_HAND)
        output = EDIT.recover(desk, prepared)
        assert output.is_error
        assert output.text == (
            "state/pipeline.md was changed by someone else while this call was interrupted. "
            f"Nothing of the call was done.\n{self.BY_HAND}"
        )
        assert output.source == "file:state/pipeline.md"
        assert desk.file(PIPELINE).read_text() == self.BY_HAND

    @pytest.mark.parametrize("reconcile_first", [True, False])
    @pytest.mark.parametrize("failpoint", RECORDED[1:] + DONE)
    def test_recorded_is_finished_and_the_edit_stays(
        self, desk: Desk, failpoint: str, reconcile_first: bool
    ) -> None:
        prepared = EDIT.die(desk, failpoint)
        desk.file(PIPELINE).write_text(self.BY_HAND)
        if reconcile_first:
            assert [each.problem for each in desk.run(lambda session: session.reconcile())] == [""]
        output = EDIT.recover(desk, prepared)
        assert not output.is_error
        assert output.text.endswith("Someone else has changed it since; read it before you go on.")
        assert desk.file(PIPELINE).read_text() == self.BY_HAND
        desk.call("edit", path=PIPELINE, edits=[{"old": "Bob", "new": "Rob"}])
        assert [version.text for version in desk.versions()] == [
            TEXT,
            EVE,
            self.BY_HAND,
            self.BY_HAND.replace("Bob", "Rob"),
        ]

    def test_a_deleted_file_stays_deleted(self, desk: Desk) -> None:
        EDIT.die(desk, "file.version.after")
        desk.file(PIPELINE).unlink()
        desk.run(lambda session: session.reconcile())
        assert not desk.file(PIPELINE).exists()


@pytest.mark.parametrize("failpoint", RECORDED)
def test_another_run_writes_before_anything_is_recovered(desk: Desk, failpoint: str) -> None:
    prepared = EDIT.die(desk, failpoint)
    output = desk.call("edit", path=PIPELINE, edits=[{"old": "Bob", "new": "Rob"}], run_id="run-2")
    assert not output.is_error
    assert not EDIT.recover(desk, prepared).is_error
    assert desk.file(PIPELINE).read_text() == EVE.replace("Bob", "Rob")
    assert [version.text for version in desk.versions()] == [TEXT, EVE, EVE.replace("Bob", "Rob")]


def test_an_old_version_with_the_same_text_is_not_this_call(desk: Desk) -> None:
    """The call puts back what the file had once. The hash is among the versions; yet it did not happen."""
    desk.call("edit", path=PIPELINE, edits=[{"old": "Ada", "new": "Eve"}])
    back = Attempt("edit", PIPELINE, {"edits": [{"old": "Eve", "new": "Ada"}]}, EVE, TEXT)
    prepared = back.die(desk, "file.version.before")
    assert json.loads(prepared)["after"] in [version.hash for version in desk.versions()]
    assert not back.recover(desk, prepared).is_error
    assert desk.file(PIPELINE).read_text() == TEXT


@pytest.mark.parametrize("failpoint", ["file.version.before", "file.version.after"])
def test_what_the_dead_session_had_seen_is_still_known(desk: Desk, failpoint: str) -> None:
    desk.call("read", path=PIPELINE)
    prepared = OVER.die(desk, failpoint)
    assert not OVER.recover(desk, prepared).is_error
    assert not desk.call("write", path=PIPELINE, text="newer").is_error


def test_a_call_that_would_have_been_refused_is_refused_again(desk: Desk) -> None:
    async def recover(session: Session) -> list[ToolOutput]:
        outputs = []
        for arguments in (
            {"path": PIPELINE, "text": "x"},
            {"path": "/etc/passwd", "text": "x"},
            {"text": "x"},
        ):
            prepared = await session.prepare("write", call_id="c1", **arguments)
            outputs.append(await session.recover("write", prepared, call_id="c1", **arguments))
        return outputs

    unseen, absolute, missing = desk.run(recover)
    assert unseen.is_error
    assert "has not seen its present text" in unseen.text
    assert absolute.text.startswith("/etc/passwd is absolute")
    assert missing.text == "write: path is missing."


def test_a_version_that_cannot_be_put_is_told_and_tried_again(desk: Desk) -> None:
    prepared = NEW.die(desk, "file.version.after")
    folder = desk.file("scratch/deep")
    for each in folder.iterdir():
        each.unlink()
    folder.rmdir()
    folder.write_text("a file where the folder was")
    [problem] = desk.run(lambda session: session.reconcile())
    assert problem.problem == "scratch/deep is a file, not a folder. Read it."
    assert NEW.recover(desk, prepared).is_error
    folder.unlink()
    assert not NEW.recover(desk, prepared).is_error
    assert desk.file(NEW.path).read_text() == NEW.after


def test_killed_at_any_moment(desk: Desk, tmp_path: Path) -> None:
    """A long row of edits, killed again and again; each line is there exactly once, in order."""
    journal, dice, count = tmp_path / "journal", random.Random(11), 25
    desk.file(SHARED).write_text("end\n")
    kills = 0
    while not (calls := read_journal(journal)) or len(calls) < count or calls[-1][1] != "finished":
        process = desk.start_process(add_lines_with_a_journal, journal, count)
        begun = len(calls)
        while process.is_alive() and len(read_journal(journal)) < begun + 2:
            time.sleep(0.001)
        time.sleep(dice.random() * 0.01)
        process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
        assert process.exitcode in (0, -signal.SIGKILL)
    assert kills >= 4
    assert desk.file(SHARED).read_text().splitlines() == [*map(str, range(count)), "end"]
    assert [version.author.call_id for version in desk.versions(SHARED)[1:]] == [
        f"call-{number}" for number in range(count)
    ]
