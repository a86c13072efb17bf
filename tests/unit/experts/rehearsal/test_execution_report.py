"""The planned execution report of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.experts.rehearsal.execution_report import Report, execution_report
from colleague.packages.package import Package, read_package
from colleague.packages.process import Process
from tests.conftest import EXAMPLE


@cache
def example() -> Package:
    package = read_package(EXAMPLE).package
    assert package is not None
    return package


@pytest.fixture
def package() -> Package:
    return example()


@pytest.fixture
def process(package: Package) -> Process:
    process = package.process("inbound-email-triage")
    assert process is not None
    return process


def call(operation: str, status: str = "finished", tier: str = "auto", **more: Any) -> dict[str, Any]:
    return {
        "id": f"call-{operation}",
        "operation": operation,
        "tier": tier,
        "arguments": {},
        "status": status,
        "result": {"text": "fine", "source": ""},
        "is_error": False,
    } | more


def mark(step: int, status: str = "done") -> dict[str, Any]:
    return call("mark_step", arguments={"step": step, "status": status, "note": "rehearsed"})


def step(number: int, status: str = "done", note: str = "rehearsed") -> dict[str, Any]:
    return {"number": number, "text": f"Step {number}", "status": status, "note": note}


def report_of(package: Package, process: Process, **run: Any) -> Report:
    return execution_report(package, process, {"dry_run": True, "outcome": "completed", **run})


def effect(package: Package, process: Process, each: dict[str, Any], **run: Any) -> str:
    (found,) = report_of(package, process, calls=[each], **run).calls
    return found.effect


class TestEffect:
    @pytest.mark.parametrize(
        ("status", "tier", "expected"),
        [
            ("finished", "auto", "ran"),
            ("finished", "confirm", "ran"),
            ("described", "auto", "simulated"),
            ("described", "confirm", "would ask first"),
            ("described", "manual", "would be left as a draft"),
            ("drafted", "manual", "would be left as a draft"),
            ("answered", "confirm", "answered by a person"),
            ("unknown", "confirm", "its end is unknown"),
        ],
    )
    def test_of_each_status(
        self, package: Package, process: Process, status: str, tier: str, expected: str
    ) -> None:
        assert effect(package, process, call("crm.get_deal", status, tier)) == expected

    def test_an_answer_that_was_made_up_is_simulated(self, package: Package, process: Process) -> None:
        each = call("crm.get_deal", result={"text": "{}", "source": "rehearsal"})
        assert effect(package, process, each) == "simulated"

    def test_a_draft_of_a_real_run_waits(self, package: Package, process: Process) -> None:
        each = call("email.send", "drafted", "manual")
        assert effect(package, process, each, dry_run=False) == "left as a draft"

    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            ("finished", "failed: no such deal"),
            ("refused", "failed: no such deal"),
            ("not_run", "not run: no such deal"),
        ],
    )
    def test_a_failure_says_why(self, package: Package, process: Process, status: str, expected: str) -> None:
        result = {"text": "\nno such deal\nand more", "source": "mcp:office/get_deal"}
        assert (
            effect(package, process, call("crm.get_deal", status, result=result, is_error=True)) == expected
        )

    @pytest.mark.parametrize("result", [None, {}, {"text": None}, "words"])
    def test_a_failure_without_words(self, package: Package, process: Process, result: Any) -> None:
        assert effect(package, process, call("crm.get_deal", result=result, is_error=True)).startswith(
            "failed: "
        )


class TestSteps:
    def test_calls_belong_to_the_step_that_is_marked_after_them(
        self, package: Package, process: Process
    ) -> None:
        calls = [
            call("write", arguments={"path": "scratch/a.md", "text": "x"}),
            mark(1),
            call("email.get_email", arguments={"message_id": "m-1"}),
            mark(2),
            call("crm.get_contact"),
            mark(3),
        ]
        report = report_of(package, process, calls=calls, steps=[step(1), step(2), step(3)])
        assert [[each.operation for each in one.calls] for one in report.steps[:4]] == [
            [],
            ["email.get_email"],
            ["crm.get_contact"],
            [],
        ]
        assert report.steps[0].also == ("writes scratch/a.md",)
        assert report.steps[1].calls[0].inputs == {"message_id": "m-1"}

    def test_every_attempt_at_a_step_is_shown(self, package: Package, process: Process) -> None:
        down = call("crm.get_deal", is_error=True, result={"text": "down", "source": ""})
        calls = [down, mark(4, "failed"), call("crm.get_deal"), mark(4)]
        report = report_of(package, process, calls=calls, steps=[step(4)])
        assert [each.effect for each in report.steps[3].calls] == ["failed: down", "ran"]

    def test_what_came_after_the_last_mark_belongs_to_the_open_step(
        self, package: Package, process: Process
    ) -> None:
        report = report_of(
            package, process, calls=[mark(1), call("email.get_email")], steps=[step(1), step(2, "open")]
        )
        assert [each.operation for each in report.steps[1].calls] == ["email.get_email"]

    def test_what_belongs_to_no_step_is_shown_too(self, package: Package, process: Process) -> None:
        steps = [step(number) for number in range(1, 12)]
        calls = [mark(11), call("crm.get_deal"), call("complete", arguments={"narrative": "", "outputs": {}})]
        report = report_of(package, process, calls=calls, steps=steps)
        assert [each.operation for each in report.steps[-1].calls] == ["crm.get_deal"]
        assert report.steps[-1].number == 0
        assert "Outside the steps" in report.lines()

    def test_a_step_that_was_not_reached_is_open(self, package: Package, process: Process) -> None:
        report = report_of(package, process)
        assert [each.status for each in report.steps] == ["open"] * 11
        assert report.steps[0].text == process.steps[0].text

    def test_file_changes_and_functions_are_told_in_a_few_words(
        self, package: Package, process: Process
    ) -> None:
        refused = call("write", is_error=True, arguments={"path": "state/b.md"}, result={"text": "not seen"})
        calls = [
            call("read", arguments={"path": "state/a.md"}),
            call("write", arguments={"path": "state/a.md", "text": "secret"}),
            call("edit", arguments={"path": "state/a.md", "edits": []}),
            refused,
            call("function_result", arguments={"function": "classify-email-intent", "outputs": {}}),
            call("function.compose-response"),
            mark(1),
        ]
        report = report_of(package, process, calls=calls, steps=[step(1)])
        assert report.steps[0].also == (
            "writes state/a.md",
            "changes state/a.md",
            "writes state/b.md: failed: not seen",
            "applies classify-email-intent",
            "applies compose-response in a session of its own",
        )
        assert "secret" not in json.dumps(report.to_json())
        assert report.calls == ()


class TestWhole:
    def test_a_call_says_what_to_expect(self, package: Package, process: Process) -> None:
        (found,) = report_of(package, process, calls=[call("crm.create_note")]).calls
        assert found.expected == (
            "Add a note to a contact, and to a deal when one is given. Visible to colleagues only. "
            "Returns note_id: string, created_at: string."
        )

    def test_an_operation_that_nobody_declares_is_shown_as_it_is(
        self, package: Package, process: Process
    ) -> None:
        (found,) = report_of(package, process, calls=[call("crm.secret", tier="")]).calls
        assert (found.tier, found.expected) == ("confirm", "")

    def test_approvals_are_the_calls_that_would_ask(self, package: Package, process: Process) -> None:
        calls = [
            call("crm.get_deal", "described"),
            call("crm.update_deal_stage", "described", "confirm", arguments={"stage": "proposal"}),
            call("email.send", "described", "manual"),
        ]
        report = report_of(package, process, calls=calls)
        assert [each.operation for each in report.approvals] == ["crm.update_deal_stage"]
        assert report.to_json()["approvals"][0]["inputs"] == {"stage": "proposal"}
        assert "A person would be asked about:" in report.lines()

    def test_every_declared_operation_is_called_or_not_reached(
        self, package: Package, process: Process
    ) -> None:
        report = report_of(package, process, calls=[call("crm.get_deal"), call("crm.get_deal")])
        assert {each.operation for each in report.operations} == set(package.operations)
        assert "crm.get_deal" not in report.not_reached
        assert "email.send" in report.not_reached
        assert "   crm.get_deal (auto): reached 2 times" in report.lines()
        assert "   email.send (manual): not reached" in report.lines()

    def test_outputs_that_fit(self, package: Package, process: Process) -> None:
        outputs = {"classification": {"intent": "stall"}, "recommended_action": {}, "draft_response": {}}
        report = report_of(package, process, outputs=outputs)
        assert report.outputs.fits
        assert report.ok
        assert not report_of(package, process, outputs=outputs, outcome="failed").ok
        assert report.to_json()["outputs"]["shape"][0] == {
            "name": "classification",
            "declared": "object",
            "returned": "object",
        }

    def test_outputs_that_do_not_fit(self, package: Package, process: Process) -> None:
        report = report_of(package, process, outputs={"classification": "stall", "extra": 1})
        assert not report.outputs.fits
        assert not report.ok
        assert any("classification" in problem for problem in report.outputs.problems)
        assert any("recommended_action" in problem for problem in report.outputs.problems)
        assert "   draft_response: missing (object)" in report.lines()
        assert "   extra: integer (not declared)" in report.lines()

    def test_a_process_that_returned_nothing(self, package: Package, process: Process) -> None:
        report = report_of(package, process, outputs=None, outcome="failed")
        assert not report.outputs.fits
        assert "Returned nothing: the process did not come to its end." in report.lines()

    def test_a_process_that_owes_nothing(self, package: Package, process: Process) -> None:
        report = report_of(package, replace(process, outputs=()), outputs=None)
        assert report.ok
        assert "Returned nothing, as it declares." in report.lines()

    def test_a_failure_is_told_under_the_head(self, package: Package, process: Process) -> None:
        report = report_of(package, process, outcome="failed", error="step 4 failed: down")
        assert report.lines()[1] == "step 4 failed: down"
        assert report.to_json()["error"] == "step 4 failed: down"

    def test_the_head_says_how_it_ended(self, package: Package, process: Process) -> None:
        report = report_of(
            package, process, attempts=[{"number": 1}, {"number": 2}], narrative="All is well."
        )
        expected = "Dry run of inbound-email-triage of radiant-sales-expert 0.1.0: completed after 2 attempts"
        assert report.lines()[0] == expected
        assert report.lines()[-1] == "All is well."

    def test_it_is_json_as_it_is(self, package: Package, process: Process) -> None:
        document = report_of(
            package, process, calls=[call("crm.get_deal"), mark(1)], steps=[step(1)]
        ).to_json()
        assert json.loads(json.dumps(document)) == document


ANYTHING = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just({}) | st.just([])
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "operation": st.sampled_from(
            ["crm.get_deal", "mark_step", "write", "function.x", "complete", ".", ""]
        ),
        "tier": ANYTHING,
        "arguments": ANYTHING | st.dictionaries(st.sampled_from(["step", "path"]), ANYTHING),
        "status": st.sampled_from(["finished", "described", "refused", "asked", ""]) | ANYTHING,
        "result": ANYTHING,
        "is_error": st.booleans(),
    },
)
STEPS = st.fixed_dictionaries(
    {}, optional={"number": ANYTHING, "text": ANYTHING, "status": ANYTHING, "note": ANYTHING}
)


@given(calls=st.lists(CALLS, max_size=5), steps=st.lists(STEPS, max_size=3), outputs=ANYTHING)
@settings(max_examples=150)
def test_any_document_gives_a_report(calls: list[Any], steps: list[Any], outputs: Any) -> None:
    package = example()
    report = execution_report(
        package, package.processes[0], {"calls": calls, "steps": steps, "outputs": outputs}
    )
    assert json.dumps(report.to_json())
    assert all(isinstance(line, str) for line in report.lines())
