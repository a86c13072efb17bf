"""Deciding as a person does it: reading the question, changing a field, going through all that waits."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.test_with_gateway import serving
from tests.conftest import SALES, Colleague
from tests.forked import forked_command
from tests.office import Office, call, calls
from tests.screen import on_a_terminal

MAIL = "Hi Sarah,\n\nhere is the offer.\n\n" + "A long sentence that is never cut. " * 30 + "\n\nBest,\nSam"
STAGE = call("crm.update_deal_stage", "The offer is out.", deal_id="d-acme", stage="proposal", reason=MAIL)
DONE = {"text": "Done."}


@pytest.fixture
def office(colleague: Colleague) -> Office:
    office = Office.open(colleague)
    office.employ(SALES)
    return office


def ask(office: Office, *replies: dict[str, object]) -> str:
    """A run that waits for a yes; the short id of its question."""
    model = office.play(*(replies or (STAGE, DONE)))
    assert office.run(SALES, "Move the deal.", model=model).code == 4
    return str(office.pending()[-1]["id"][-8:])


def stages(office: Office) -> list[str]:
    return [row[0] for row in office.rows("SELECT stage FROM deals WHERE deal_id = 'd-acme'")]


def test_a_question_is_whole_with_its_commands_first_and_its_ids_last(office: Office) -> None:
    approval = ask(office)
    shown = office.colleague.ok("approval", "show", approval).out.splitlines()
    assert shown[0].startswith(f"{SALES} asks before it does crm.update_deal_stage")
    assert shown[2].strip() == f"colleague approve {approval}"
    fields = [line.partition("│ ")[2] for line in shown if "│" in line]
    assert fields[2:] == [*MAIL.replace(" \n", "\n").splitlines(), "The offer is out."]
    assert approval in shown[-2]
    assert shown[-1].strip().startswith("digest ")


def test_no_line_of_a_question_passes_for_ours_on_a_narrow_terminal(office: Office) -> None:
    forged = "x" * 45 + " confirm 00000000, run 00000000, approved by ann " + "y" * 70
    approval = ask(
        office, call("crm.update_deal_stage", "Why", deal_id="d-acme", stage="proposal", reason=forged), DONE
    )
    shown = on_a_terminal(office.colleague, "approval", "show", approval, columns=60).splitlines()
    forged_lines = [line for line in shown if "approved by ann" in line or "xxx" in line or "yyy" in line]
    assert len(forged_lines) > 3
    assert all("│" in line and len(line) <= 60 for line in forged_lines)
    assert forged.replace(" ", "") == "".join(line.split("│")[1].replace(" ", "") for line in forged_lines)


def test_the_list_says_what_each_is_about(office: Office) -> None:
    ask(office)
    assert "deal_id d-acme, stage proposal" in office.colleague.ok("approval", "list").out


def test_a_narrow_list_loses_no_word(office: Office) -> None:
    approval = ask(office)
    shown = on_a_terminal(office.colleague, "approval", "list", columns=60)
    assert approval in shown
    assert shown.count("…") == 1, "only the summary itself is shortened"
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert max(map(len, plain.splitlines())) <= 60
    assert re.search(r"^EXPERT +radiant-sales-expert *\r?$", plain, re.MULTILINE), (
        "no column of single letters"
    )


@pytest.mark.parametrize("gateway", [False, True], ids=["alone", "gateway"])
def test_a_single_field_is_changed(office: Office, gateway: bool) -> None:
    approval = ask(office)
    with serving(office.colleague) if gateway else _nothing():
        said = office.colleague.ok("approve", approval, "--set", "stage=discovery")
    assert f"✓ {approval} crm.update_deal_stage: approved with your changes\n" in said.err
    assert stages(office) == ["discovery"]
    [made] = [each for each in office.last_run()["calls"] if each["operation"] == "crm.update_deal_stage"]
    assert made["arguments"]["reason"] == MAIL
    shown = office.colleague.ok("run", "show", office.last_run()["id"]).out
    assert re.search(r"crm.update_deal_stage .*: finished(?: after \d+ s)?: .*discovery", shown), shown


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("stage=nowhere", "do not fit"),
        ("stage", "is no field=value"),
        ("stge=discovery", "did you mean 'stage'?"),
        ("reason.inner=1", "do not fit"),
    ],
)
def test_what_does_not_fit_decides_nothing(office: Office, setting: str, told: str) -> None:
    approval = ask(office)
    said = office.colleague("approve", approval, "--set", setting)
    assert (said.code in (1, 2), told in said.err, stages(office)) == (True, True, ["evaluation"])
    assert [each["id"][-8:] for each in office.pending()] == [approval]


def editor(folder: Path, *commands: str) -> str:
    """A program that changes the file as a person would."""
    script = folder / "editor.sh"
    script.write_text("#!/bin/sh\n" + "\n".join(commands) + "\n")
    script.chmod(0o755)
    return str(script)


def test_the_arguments_are_changed_in_an_editor(office: Office, tmp_path: Path) -> None:
    approval = ask(office)
    change = editor(tmp_path, 'cp "$1" shown.yaml', "sed -i 's/Sarah,/Dr. Chen,/; s/Sam$/Samira/' \"$1\"")
    office.colleague.ok("approve", approval, "--edit", EDITOR=change)
    shown = (tmp_path / "shown.yaml").read_text()
    assert "reason: |" in shown
    assert "\n  here is the offer.\n" in shown
    [made] = [each for each in office.last_run()["calls"] if each["operation"] == "crm.update_deal_stage"]
    assert made["arguments"]["reason"] == MAIL.replace("Sarah", "Dr. Chen").replace("Sam", "Samira")


def test_an_open_editor_keeps_nobody_from_the_home(office: Office, tmp_path: Path) -> None:
    approval = ask(office)
    reject = shlex.join(forked_command("-m", "colleague", "reject", approval))
    change = editor(tmp_path, f"{reject} 2> rejected.txt", "sed -i 's/Sarah,/Dr. Chen,/' \"$1\"")
    said = office.colleague("approve", approval, "--edit", EDITOR=change)
    assert "rejected; it does not run" in (tmp_path / "rejected.txt").read_text()
    assert (said.code, "already" in said.err, stages(office)) == (1, True, ["evaluation"])
    assert "what you wrote is kept in" in said.err


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        (["true"], "nothing was changed"),
        (["false"], "the editor ended with 1"),
        (["echo 'a: [' > $1"], "is no YAML"),
        (["echo 5 > $1"], "has no fields"),
    ],
)
def test_an_editor_that_gives_nothing_decides_nothing(
    office: Office, tmp_path: Path, commands: list[str], told: str
) -> None:
    approval = ask(office)
    said = office.colleague("approve", approval, "--edit", EDITOR=editor(tmp_path, *commands))
    assert (said.code, told in said.err) == (2, True), said.err
    assert [each["id"][-8:] for each in office.pending()] == [approval]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo 'reason: [a long mail' > $1", "is no YAML, line"),
        ("sed -i 's/stage: .*/stage: a long mail/' $1", "closed_lost"),
    ],
)
def test_what_was_written_in_an_editor_is_kept_until_it_is_decided(
    office: Office, tmp_path: Path, command: str, told: str
) -> None:
    approval = ask(office)
    said = office.colleague("approve", approval, "--edit", EDITOR=editor(tmp_path, command))
    assert told in said.err, said.err
    found = re.search(r"what you wrote is kept in (\S+)", said.err)
    assert found, said.err
    kept = Path(found[1])
    assert "a long mail" in kept.read_text()
    shutil.rmtree(kept.parent)


def test_no_editor(office: Office) -> None:
    said = office.colleague("approve", ask(office), "--edit", EDITOR="/nowhere/at/all")
    assert (said.code, "cannot be started" in said.err) == (2, True)


def test_a_draft_that_is_done_says_only_that(office: Office) -> None:
    model = office.play(call("email.send", to="a@b.example", subject="x", body="y"), DONE)
    office.run(SALES, "Write.", model=model)
    [draft] = [each for each in office.pending() if each["kind"] == "draft"]
    said = office.colleague.ok("done", draft["id"][-8:])
    assert said.out == ""
    assert said.err.splitlines() == [f"✓ {draft['id'][-8:]} email.send: noted as done by you"]


def test_without_a_terminal_an_id_is_needed(office: Office) -> None:
    said = office.colleague("approve")
    assert (said.code, "name what to approve" in said.err) == (2, True)


class Person:
    """Somebody at a terminal, who types when asked."""

    def __init__(self, colleague: Colleague, *arguments: str, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        command = forked_command("-m", "colleague", *arguments)
        around = colleague.environment({"TERM": "xterm", "COLUMNS": "120", **environment})
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=around)
        os.close(theirs)
        self.seen = ""

    def reads(self, text: str) -> str:
        """Waits for a text; what stood before it."""
        deadline = time.monotonic() + 240
        while text not in self.seen and time.monotonic() < deadline:
            self._look()
        assert text in self.seen, self.seen
        before, _, self.seen = self.seen.partition(text)
        return before

    def types(self, text: str) -> None:
        os.write(self._ours, f"{text}\n".encode())

    def leaves(self) -> int:
        while self._look():
            pass
        os.close(self._ours)
        return self.process.wait(60)

    def __enter__(self) -> Person:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def _look(self) -> bool:
        ready, _, _ = select.select([self._ours], [], [], 60)
        assert ready, f"it says nothing more after:\n{self.seen}"
        try:
            found = os.read(self._ours, 65536)
        except OSError:
            return False
        self.seen += found.decode(errors="replace")
        return bool(found)


def ask_twice(office: Office) -> None:
    """A run that has read a deal, and waits for two answers."""
    first = {"deal_id": "d-acme", "stage": "proposal", "reason": "r"}
    second = {"deal_id": "d-tidewater", "stage": "discovery", "reason": "r"}
    both = calls(("crm.update_deal_stage", first), ("crm.update_deal_stage", second))
    ask(office, call("crm.get_deal", deal_id="d-acme"), both, DONE)


def test_going_through_all_that_waits(office: Office) -> None:
    ask_twice(office)
    with Person(office.colleague, "approve") as person:
        person.reads("1 of 2")
        person.reads("[y]es  [n]o  [e]dit  [r]espond  [s]kip  [q]uit")
        person.types("x")
        person.reads("is none of")
        person.types("y")
        person.reads("crm.update_deal_stage: approved")
        person.reads("2 of 2")
        person.reads("asks before it does")
        assert "colleague approve" not in person.reads("[q]uit"), "keys decide here"
        person.types("r")
        person.reads("Tell the agent")
        person.types("Not this one.")
        person.reads("answered in the tool's place")
        assert person.leaves() == 0
        assert "crm.get_deal" not in person.seen, "what had happened before is not told again"
    assert stages(office) == ["proposal"]
    assert office.pending() == []


def test_whoever_quits_is_asked_no_more(office: Office) -> None:
    ask_twice(office)
    with Person(office.colleague, "approve") as person:
        person.reads("[q]uit")
        person.types("y")
        person.reads("2 of 2")
        person.reads("[q]uit")
        person.types("q")
        assert person.leaves() == 4
        assert "[y]es" not in person.seen
    assert len(office.pending()) == 1


@pytest.mark.parametrize("gateway", [False, True], ids=["alone", "gateway"])
def test_ctrl_c_at_a_question_leaves_at_once_and_says_what_stays(office: Office, gateway: bool) -> None:
    ask_twice(office)
    with (
        serving(office.colleague) if gateway else _nothing(),
        Person(office.colleague, "approve") as person,
    ):
        person.reads("[q]uit")
        person.types("y")
        person.reads("2 of 2")
        person.reads("[q]uit")
        time.sleep(1)  # a signal just before Python begins to read is noticed with the next key only
        person.process.send_signal(signal.SIGINT)
        person.reads(f"run {office.last_run()['id'][-8:]}")
        person.reads("colleague " if gateway else "go on with: colleague run resume")
        assert person.leaves() == 130
    assert len(office.pending()) == 1


def test_others_work_while_a_person_thinks(office: Office) -> None:
    ask_twice(office)
    with Person(office.colleague, "approve") as person:
        person.reads("[q]uit")
        [first, second] = office.pending()
        assert office.colleague("reject", first["id"][-8:], second["id"][-8:]).code != 3
        assert office.pending() == []
        person.types("y")
        person.reads("already")
        person.reads("[q]uit")
        person.types("q")
        assert person.leaves() == 1


def test_what_does_not_fit_is_asked_again_at_the_terminal(office: Office, tmp_path: Path) -> None:
    ask(office)
    wrong = editor(
        tmp_path, "sed -i 's/stage: nowhere.*/&, nowhere/; s/stage: [a-z]*$/stage: nowhere/' \"$1\""
    )
    with Person(office.colleague, "approve", EDITOR=wrong) as person:
        person.reads("[q]uit")
        person.types("e")
        person.reads("do not fit")
        person.reads("[q]uit")
        person.types("e")
        person.reads("[q]uit")
        person.types("s")
        kept = Path(person.reads("arguments.yaml").split("what you wrote is kept in ")[1]) / "arguments.yaml"
        assert person.leaves() == 0
    assert "stage: nowhere, nowhere" in kept.read_text()  # the editor opened what was written before
    shutil.rmtree(kept.parent)
    assert (stages(office), len(office.pending())) == (["evaluation"], 1)


def test_nothing_waits(office: Office) -> None:
    with Person(office.colleague, "approve") as person:
        person.reads("Nobody is being waited for.")
        assert person.leaves() == 0
