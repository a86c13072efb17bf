"""The same commands with a gateway that holds the home: same words, same codes, same documents."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.conftest import SALES, Colleague
from tests.forked import forked_command
from tests.office import Office

TRIAGE = ("--process", "inbound-email-triage", "--input", "message_id=m-acme-pricing")
REHEARSAL = "rehearsal/walkthrough"


@contextmanager
def serving(colleague: Colleague) -> Iterator[None]:
    """`colleague serve` on any free port, ended as systemd would end it."""
    command = forked_command("-m", "colleague", "serve", "--port", "0")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=colleague.environment({}), cwd=colleague.home.parent
    ) as process:
        try:
            assert process.stdout is not None
            assert "listens on" in process.stdout.readline()
            yield
        finally:
            process.terminate()
            assert process.wait(30) == 0


def story(office: Office) -> list[Any]:
    """A run that asks, its approval, a cancel, and what can be looked up: all that a person would notice."""
    colleague = office.colleague
    asked = office.run(SALES, *TRIAGE, model=REHEARSAL)
    [approval] = office.pending()
    approved = colleague("approve", approval["id"][-8:], timeout=120)
    run = office.last_run()
    second = office.run(SALES, *TRIAGE, model=REHEARSAL)
    cancelled = colleague("run", "cancel", office.last_run()["id"][-8:])
    again = colleague("run", "cancel", office.last_run()["id"][-8:])
    missing = colleague("expert", "run", "nobody", "hello")
    return [
        (asked.code, approval["operation"], approval["arguments"], approval["decided_by"]),
        (approved.code, approved.out),
        (run["outcome"], [step["status"] for step in run["steps"]], run["outputs"], run["narrative"]),
        [(call["operation"], call["tier"], call["status"]) for call in run["calls"]],
        (run["delivery"]["status"], run["delivery"]["channel"], run["delivery"]["body"]),
        (second.code, cancelled.code, again.code, missing.code, missing.err.replace(str(colleague.home), "")),
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
    assert "failed: " in line
    assert "m-none" in line.partition("failed: ")[2]
