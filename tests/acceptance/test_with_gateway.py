"""The same commands with a gateway that holds the home: same words, same codes, same documents."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tests.conftest import SALES, Colleague, Said
from tests.forked import forked_command
from tests.office import Office, call, calls
from tests.screen import on_a_terminal
from tests.unit.test_fast_verbs import modules_after

TRIAGE = ("--process", "inbound-email-triage", "--input", "message_id=m-acme-pricing")
REHEARSAL = "rehearsal/walkthrough"

T = TypeVar("T")


def start_gateway(colleague: Colleague) -> subprocess.Popen[str]:
    """`colleague serve` on any free port, once it listens."""
    command = forked_command("-m", "colleague", "serve", "--port", "0")
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=colleague.environment({}), cwd=colleague.home.parent
    )
    assert process.stdout is not None
    assert "listens on" in process.stdout.readline()
    return process


def end(gateway: subprocess.Popen[str]) -> None:
    """As the kernel does it that is short of memory."""
    assert gateway.stdout is not None
    gateway.kill()
    gateway.wait()
    gateway.stdout.close()


@contextmanager
def serving(colleague: Colleague) -> Iterator[None]:
    """Ended as systemd would end it."""
    with start_gateway(colleague) as process:
        try:
            yield
        finally:
            process.terminate()
            assert process.wait(120) == 0


def story(office: Office) -> list[Any]:
    """A cancel, a run that asks, its approval, and what can be looked up: all that a person would notice."""
    colleague = office.colleague
    first = office.run(SALES, *TRIAGE, model=REHEARSAL)
    cancelled = colleague("run", "cancel", office.last_run()["id"][-8:])
    again = colleague("run", "cancel", office.last_run()["id"][-8:])
    asked = office.run(SALES, *TRIAGE, model=REHEARSAL)
    [approval] = office.pending()
    approved = colleague("approve", approval["id"][-8:], timeout=120)
    run = office.last_run()
    missing = colleague("expert", "run", "nobody", "hello")
    return [
        (asked.code, approval["operation"], approval["arguments"], approval["decided_by"]),
        (approved.code, approved.out),
        (run["outcome"], [step["status"] for step in run["steps"]], run["outputs"], run["narrative"]),
        [(call["operation"], call["tier"], call["status"]) for call in run["calls"]],
        (run["delivery"]["status"], run["delivery"]["channel"], run["delivery"]["body"]),
        (first.code, cancelled.code, again.code, missing.code, missing.err.replace(str(colleague.home), "")),
        office.effects,
    ]


def test_a_gateway_makes_no_difference(colleague: Colleague, tmp_path_factory: Any) -> None:
    alone = Office.open(colleague)
    alone.employ(SALES)
    expected = story(alone)

    served = Office.open(Colleague(tmp_path_factory.mktemp("served") / "home"))
    served.employ(SALES)
    with serving(served.colleague):
        found = story(served)

    assert found == expected
    assert expected[0][0] == 4
    assert expected[5][:4] == (4, 0, 1, 1)


def test_the_agent_answers_with_and_without_a_gateway(colleague: Colleague) -> None:
    office = Office.open(colleague)
    model = office.play({"text": "Good morning."}, {"text": "Good morning."})
    alone = colleague("agent", "hi", "--model", model)
    with serving(colleague):
        asked = colleague("agent", "hi", "--model", model)
    assert (alone.code, alone.out) == (asked.code, asked.out) == (0, "Good morning.\n")


def test_a_call_that_failed_reads_as_failed(colleague: Colleague) -> None:
    office = Office.open(colleague)
    office.employ(SALES)
    model = office.play(
        {"calls": [{"operation": "email.get_email", "arguments": {"message_id": "m-none"}}]},
        {"text": "None."},
    )
    run = office.run(SALES, "Look it up.", model=model)
    assert run.code == 0, run.err
    shown = colleague.ok("run", "show", office.last_run()["id"][-8:]).out
    [line] = [line for line in shown.splitlines() if "email.get_email" in line]
    assert re.search(r": failed(?: after \d+ s)?: .*m-none", line), line


HEAVY = {"pydantic_ai", "mcp", "starlette", "pydantic", "colleague.store", "colleague.agent"}


def test_a_command_that_asks_a_gateway_imports_nothing_heavy(colleague: Colleague) -> None:
    office = Office.open(colleague)
    office.employ(SALES)
    colleague.ok("expert", "enable", SALES)
    model = office.play({"text": "Good morning."})
    payload = json.dumps({"messages": [{"id": "m-1", "from": "a@b.example", "subject": "s", "body": "b"}]})
    slow = {"model": {"primary": office.play({"text": "x", "delay": 60}, name="slow")}}
    (colleague.home / "openclaw.json").write_text(json.dumps({"agents": {"defaults": slow}}))
    with serving(colleague):
        assert not modules_after(colleague, ["agent", "hi", "--model", model]) & HEAVY
        run = ["expert", "run", SALES, *TRIAGE, "--model", REHEARSAL]
        assert not modules_after(colleague, run, code=4) & HEAVY
        [asked] = office.pending()
        assert not modules_after(colleague, ["reject", asked["id"][-8:]], code=1) & HEAVY
        assert not modules_after(colleague, run, code=4) & HEAVY
        [asked] = [each for each in office.pending() if each["kind"] == "confirm"]
        assert not modules_after(colleague, ["approve", asked["id"][-8:]], code=0) & HEAVY
        fire = ["trigger", "fire", SALES, "new_email", "--payload", payload, "--no-wait"]
        assert not modules_after(colleague, fire) & HEAVY
        run_id = colleague.ok("run", "list", "--limit", "1", "--json").json[0]["id"]
        colleague.ok("run", "cancel", run_id)
        assert not modules_after(colleague, ["run", "watch", run_id], code=1) & HEAVY
        colleague.ok(
            "expert", "run", SALES, "Wait.", "--no-wait", "--model", office.play({"text": "x", "delay": 60})
        )
        run_id = colleague.ok("run", "list", "--limit", "1", "--json").json[0]["id"]
        assert not modules_after(colleague, ["run", "cancel", run_id[-8:]]) & HEAVY


def with_and_without(colleague: Colleague, work: Callable[[], T]) -> tuple[T, T]:
    """What a command says alone, and what it says through a gateway."""
    alone = work()
    with serving(colleague):
        return alone, work()


def no_ids(text: str) -> str:
    """Nor how long a call took beside other work."""
    return re.sub(r"\b[0-9a-f]{8}\b", "ID", re.sub(r"(?m)^ +\S+ took \d+ s\n", "", text))


LOOKED_UP = (
    call("email.get_email", message_id="m-none"),
    call("email.burn"),
    call("crm.get_contact", email="dana@acme.example"),
)


def test_the_view_is_the_same_with_and_without_a_gateway(colleague: Colleague) -> None:
    office = Office.open(colleague)
    office.employ(SALES)
    model = office.play(*LOOKED_UP, {"text": "None of it."})
    alone, asked = with_and_without(colleague, lambda: office.run(SALES, "Look it up.", model=model))
    assert (alone.code, alone.out, no_ids(alone.err)) == (asked.code, asked.out, no_ids(asked.err))
    head, *lines, end = no_ids(alone.err).splitlines()
    assert head == f"run ID · {model} · {SALES}"
    assert [line.split()[1] if "✗" in line else line.split()[0] for line in lines] == [
        "email.get_email",
        "email.get_email:",
        "email.burn:",
        "crm.get_contact",
    ]
    assert "m-none" in lines[1]
    assert "refused" in lines[2]
    assert re.fullmatch(r"✓ run ID completed · \d+ tokens in, \d+ out · 1 of its calls was refused", end)
    run_id = office.last_run()["id"]
    watched = colleague("run", "watch", run_id[-8:])
    assert (watched.code, watched.out, no_ids(watched.err)) == (alone.code, alone.out, no_ids(alone.err))


def test_the_agent_streams_the_same_with_and_without_a_gateway(colleague: Colleague) -> None:
    office = Office.open(colleague)
    model = office.play(call("ls", "Let me look.", path="."), {"text": f"Here:\n{'word ' * 8_000}end."})

    def turn() -> Said:
        colleague.ok("session", "reset", "main")
        return colleague("agent", "hi", "--model", model)

    alone, asked = with_and_without(colleague, turn)
    assert (alone.code, alone.out) == (asked.code, asked.out)
    assert alone.out == f"Let me look.\nHere:\n{'word ' * 8_000}end.\n"
    assert no_ids(alone.err) == no_ids(asked.err)
    assert "\x1b" not in alone.err
    colleague.ok("session", "reset", "main")
    document = colleague("agent", "hi", "--json", "--model", model)
    assert (document.json["outcome"], document.err) == ("completed", "")


MOVES = calls(
    ("crm.update_deal_stage", {"deal_id": "d-acme", "stage": "discovery", "reason": "r"}),
    ("crm.update_deal_stage", {"deal_id": "d-acme", "stage": "proposal", "reason": "r"}),
)


def test_each_decision_of_several_is_answered(colleague: Colleague) -> None:
    office = Office.open(colleague)
    office.employ(SALES)
    model = office.play(MOVES, {"text": "Moved twice."})

    def decide() -> Said:
        assert office.run(SALES, "Move it.", model=model).code == 4
        one, two = (each["id"][-8:] for each in office.pending())
        return colleague("approve", one, "ffffffff", one, two)

    alone, asked = with_and_without(colleague, decide)
    assert (alone.code, alone.out) == (asked.code, asked.out) == (1, "Moved twice.\n")
    lines = [re.sub(r"[\d-]+T[\d:+]+", "THEN", no_ids(each.err)).splitlines() for each in (alone, asked)]
    assert lines[0] == lines[1]
    first, unknown, again, second = lines[0][:4]
    assert first == second == "✓ ID crm.update_deal_stage: approved"
    assert unknown.startswith("✗ ID: there is no approval 'ID'")
    assert re.match(r"✗ ID: approval ID was approved by \S+ already, at THEN", again)
    assert office.effects == ["update_deal_stage"] * 4


SLOW = {"text": "At last.", "delay": 8}


def following(colleague: Colleague, model: str) -> subprocess.Popen[str]:
    """`colleague agent` in the middle of its turn."""
    command = forked_command("-m", "colleague", "agent", "hi", "--model", model)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, env=colleague.environment({}), **streams)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("run ")
    return process


def test_a_gateway_that_is_killed_while_it_is_followed(colleague: Colleague) -> None:
    office = Office.open(colleague)
    gateway = start_gateway(colleague)
    with following(colleague, office.play(SLOW)) as process:
        end(gateway)
        out, err = process.communicate(timeout=240)
    assert (process.returncode, out) == (3, "")
    run_id = office.last_run()["id"][-8:]
    assert "the gateway is gone" in err
    assert f"run {run_id} is stored and goes on when the gateway is back" in err
    assert f"colleague run watch {run_id}" in err


def test_a_gateway_that_is_started_again_goes_on_telling(colleague: Colleague) -> None:
    office = Office.open(colleague)
    gateway = start_gateway(colleague)
    with following(colleague, office.play(SLOW)) as process:
        end(gateway)
        with serving(colleague):
            out, err = process.communicate(timeout=90)
    assert (process.returncode, out) == (0, "At last.\n"), err
    assert "the gateway is back" in err


def test_two_commands_follow_one_run(colleague: Colleague) -> None:
    office = Office.open(colleague)
    with serving(colleague), following(colleague, office.play(SLOW)) as process:
        watched = colleague("run", "watch", office.last_run()["id"][-8:])
        out, _ = process.communicate(timeout=240)
    assert (process.returncode, out) == (0, "At last.\n")
    assert (watched.code, watched.out) == (0, "At last.\n")


def test_a_terminal_shows_how_long_the_model_thinks(colleague: Colleague) -> None:
    office = Office.open(colleague)
    model = office.play({"text": "At last.", "delay": 2})
    with serving(colleague):
        shown = on_a_terminal(colleague, "agent", "hi", "--model", model)
    assert re.search(r"thinking, \d+ s", shown)
    assert shown.replace("\r", "").splitlines()[-2].endswith("At last.")
