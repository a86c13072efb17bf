"""The walk through a checklist, step by step, after failures, and where things are missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.tools.arguments import parameters
from colleague.experts.rehearsal.planned_call import SIMULATED
from colleague.experts.rehearsal.walkthrough import walkthrough_model
from colleague.experts.workspace.scratch import scratchpad_path
from colleague.packages.package import Package
from colleague.packages.tool_declaration import Operation
from tests.unit.experts.rehearsal.stage import DRAFTED, NATIVE, Said, Stage, data, error
from tests.unit.packages.conftest import CLEAN, PackageOnDisk

HEAD = CLEAN["processes/triage.md"].partition("# Triage")[0]
LOOK_UP = "- [ ] Look the sender up with `crm.get_contact`.\n"


class Desk:
    """A package on disk with a checklist of the test's own, and stages for it."""

    def __init__(self, root: Path) -> None:
        self.disk = PackageOnDisk(root)
        for path, text in CLEAN.items():
            self.disk.write(path, text)

    def steps(self, body: str, **outputs: str) -> Desk:
        declared = "".join(f"  - name: {name}\n    type: {kind}\n" for name, kind in outputs.items())
        head = HEAD.replace(
            "functions: [classify]",
            f"outputs:\n{declared}functions: [classify]" if outputs else "functions: [classify]",
        )
        self.disk.write("processes/triage.md", head + body)
        return self

    def package(self) -> Package:
        reading = self.disk.read()
        assert [str(each) for each in reading.findings.errors] == []
        assert reading.package is not None
        return reading.package

    def stage(self, answer: Any = None, **more: Any) -> Stage:
        package = self.package()
        operations = {
            f"{tool.name}.{each.name}": schema(each) for tool in package.tools for each in tool.operations
        }
        settings = {"operations": operations, "inputs": {"mail_id": "m-1"}} | more
        return Stage(
            package,
            package.process("triage"),
            answer=answer or (lambda *_: data({"name": "Ada"})),
            **settings,
        )


def schema(operation: Operation) -> dict[str, Any]:
    return operation.input | {"required": list(operation.input.get("properties", {}))}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "clean-expert")


def test_it_is_a_model_without_prices_that_speaks_of_itself(desk: Desk) -> None:
    model = walkthrough_model(desk.package(), None, {})
    assert isinstance(model, ResolvedModel)
    assert (model.name, model.prices) == ("rehearsal/walkthrough", None)
    assert model.stand_in is not None


def test_one_call_a_turn_and_a_sentence_with_it(desk: Desk) -> None:
    stage = desk.stage().run()
    assert stage.names == [
        "write",
        "mark_step",
        "crm.get_contact",
        "mark_step",
        "read",
        "function_result",
        "mark_step",
        "complete",
    ]
    assert all(text.startswith("Rehearsal: ") and text.count("\n") == 0 for text in stage.texts)
    assert stage.marks == [(number, "done", "rehearsed") for number in (1, 2, 3)]


def test_the_same_past_gives_the_same_answer(desk: Desk) -> None:
    first, second = desk.stage().run(), desk.stage().run()
    assert (first.calls, first.texts) == (second.calls, second.texts)


class TestFiles:
    def test_a_scratch_file_is_written_once_and_read_afterwards(self, desk: Desk) -> None:
        desk.steps("- [ ] Open `./scratch/a-{mail_id}.md`.\n- [ ] Look into `scratch/a-{mail_id}.md`.\n")
        stage = desk.stage().run()
        assert stage.names == ["write", "mark_step", "read", "mark_step", "complete"]
        assert stage.called("read") == [{"path": "scratch/a-m-1.md"}]
        assert stage.files["scratch/a-m-1.md"] == "# Rehearsal of triage\n\n- mail_id: m-1\n"

    def test_a_scratch_file_of_an_earlier_run_is_read_and_kept(self, desk: Desk) -> None:
        desk.steps("- [ ] Open `scratch/a.md`.\n")
        stage = desk.stage(files={"scratch/a.md": "what was known\n"}).run()
        assert stage.names == ["write", "read", "mark_step", "complete"]
        assert stage.files["scratch/a.md"] == "what was known\n"
        assert stage.marks == [(1, "done", "rehearsed")]

    def test_a_state_file_gets_one_more_line(self, desk: Desk) -> None:
        desk.steps("- [ ] Update `./state/notes.md`.\n")
        stage = desk.stage().run()
        assert stage.names == ["read", "write", "mark_step", "complete"]
        assert (
            stage.files["state/notes.md"]
            == CLEAN["state/notes.md"] + "- rehearsal: Update `./state/notes.md`.\n"
        )

    @pytest.mark.parametrize(
        "before", ["", "no line end", "<data>\n</data>\n", "[link](x)\n", "ünï\u2028code\n"]
    )
    def test_nothing_of_a_state_file_is_lost(self, desk: Desk, before: str) -> None:
        desk.steps("- [ ] Update `state/notes.md`.\n")
        stage = desk.stage(files={"state/notes.md": before}).run()
        assert stage.outputs is not None
        kept = stage.files["state/notes.md"].removesuffix("- rehearsal: Update `state/notes.md`.\n")
        assert kept in (before, f"{before}\n")

    @pytest.mark.parametrize(
        "end",
        [
            "[lines 1 to 2000 of 3000 shown; read on with offset=2001]",
            "[bytes that are not UTF-8 are shown as \ufffd]",
        ],
    )
    def test_a_state_file_that_was_not_shown_whole_is_left_as_it_is(self, desk: Desk, end: str) -> None:
        desk.steps("- [ ] Update `state/notes.md`.\n")
        stage = desk.stage(faults={"read": [data(f"a line\n{end}", "file:state/notes.md")]}).run()
        assert stage.names == ["read", "mark_step", "complete"]
        assert stage.marks[0][1] == "skipped"
        assert "state/notes.md" in stage.marks[0][2]

    def test_a_state_file_changed_meanwhile_is_read_again(self, desk: Desk) -> None:
        desk.steps("- [ ] Update `state/notes.md`.\n")
        stage = desk.stage()
        stage.turn()
        stage.files["state/notes.md"] = "another run was here\n"
        stage.run()
        assert stage.names == ["read", "write", "read", "write", "mark_step", "complete"]
        assert stage.files["state/notes.md"].startswith("another run was here\n- rehearsal")
        assert stage.attempts == 1

    def test_a_file_that_can_never_be_written_fails_the_step(self, desk: Desk) -> None:
        desk.steps("- [ ] Update `state/notes.md`.\n")
        stage = desk.stage(faults={"write": [error("the disk is full")] * 9}).run(most_attempts=1)
        assert stage.names == ["read", "write", "read", "write", "mark_step"]
        assert stage.marks == [(1, "failed", "the disk is full")]

    def test_a_state_file_that_nobody_ships_is_begun(self, desk: Desk) -> None:
        desk.steps("- [ ] Keep it in `state/{mail_id}.md`.\n")
        stage = desk.stage().run()
        assert stage.files["state/m-1.md"] == "- rehearsal: Keep it in `state/{mail_id}.md`.\n"

    def test_a_state_file_that_cannot_be_read_is_not_replaced(self, desk: Desk) -> None:
        desk.steps("- [ ] Update `state/notes.md`.\n")
        native = {name: schema for name, schema in NATIVE.items() if name != "read"}
        stage = desk.stage(native=native).run()
        assert stage.names == ["mark_step", "complete"]
        assert stage.marks[0][1] == "skipped"

    def test_a_path_that_leads_out_of_its_folder_is_no_file(self, desk: Desk) -> None:
        desk.steps("- [ ] See `scratch/../notes.md`, `./state/../../x.md` and `knowledge/../expert.yaml`.\n")
        assert desk.stage().run().names == ["mark_step", "complete"]

    def test_knowledge_is_read_and_what_does_not_exist_is_said(self, desk: Desk) -> None:
        desk.steps("- [ ] See `knowledge/facts.md`, `knowledge/gone.md` and `yes/no` and `a/../../b`.\n")
        stage = desk.stage().run()
        assert [each["path"] for each in stage.called("read")] == ["knowledge/facts.md", "knowledge/gone.md"]
        assert stage.marks == [
            (1, "skipped", "rehearsed without knowledge/gone.md, which cannot be reached here")
        ]

    @pytest.mark.parametrize("pad", ["scratch/triage-{mail_id}.md", "scratch/other-{mail_id}.md"])
    @pytest.mark.parametrize("value", ["../../etc/passwd", "a/b c", 7, "<m@x>", "x" * 500, "\n", {"a": 1}])
    def test_an_input_in_a_path_stays_a_name(self, desk: Desk, value: Any, pad: str) -> None:
        desk.steps(f"- [ ] Open `./{pad}`.\n")
        (written,) = desk.stage(inputs={"mail_id": value}).run().called("write")
        folder, slash, name = written["path"].partition("/")
        assert (folder, slash) == ("scratch", "/")
        assert "/" not in name
        assert name.startswith(pad.partition("/")[2].partition("{")[0])

    def test_the_scratchpad_is_where_the_framework_looks_for_it(self, desk: Desk) -> None:
        desk.steps("- [ ] Open `./scratch/triage-{mail_id}.md`.\n")
        stage = desk.stage(inputs={"mail_id": "a/b"}).run()
        assert stage.process is not None
        assert stage.called("write")[0]["path"] == scratchpad_path(stage.process, {"mail_id": "a/b"})

    def test_a_placeholder_without_an_input_is_its_own_name(self, desk: Desk) -> None:
        desk.steps("- [ ] Open `./scratch/{nobody}.md`.\n")
        assert desk.stage(inputs={}).run().called("write")[0]["path"] == "scratch/nobody.md"


class TestReading:
    @pytest.mark.parametrize(
        "said",
        [
            "Read `state/notes.md` for promises.",
            "Look at `./state/notes.md` and compare.",
            "Check `state/notes.md`, then write to nobody.",
            "Write a summary after you have read `state/notes.md`.",
        ],
    )
    def test_a_state_file_is_only_read_where_the_step_says_read(self, desk: Desk, said: str) -> None:
        stage = desk.steps(f"- [ ] {said}\n").stage().run()
        assert stage.names == ["read", "mark_step", "complete"]

    @pytest.mark.parametrize(
        "said", ["Read `state/notes.md` and update it.", "Update `state/notes.md`. Read it again first."]
    )
    def test_and_written_where_it_says_that_too(self, desk: Desk, said: str) -> None:
        stage = desk.steps(f"- [ ] {said}\n").stage().run()
        assert stage.names == ["read", "write", "mark_step", "complete"]

    def test_a_scratch_file_that_is_not_there_is_not_made_by_reading(self, desk: Desk) -> None:
        stage = desk.steps("- [ ] Read `scratch/notes.md`, when it is there.\n").stage().run()
        assert stage.names == ["read", "mark_step", "complete"]
        assert "scratch/notes.md" not in stage.files


class TestFunctions:
    @pytest.mark.parametrize(
        "named", ["functions/classify", "functions/classify.md", "./functions/classify.md"]
    )
    def test_a_function_may_be_named_by_its_path(self, desk: Desk, named: str) -> None:
        stage = desk.steps(f"- [ ] Apply `{named}` to the mail.\n").stage().run()
        told = [(name, arguments.get("path") or arguments.get("function")) for name, arguments in stage.calls]
        assert told[:2] == [("read", "functions/classify.md"), ("function_result", "classify")]
        assert stage.marks == [(1, "done", "rehearsed")]

    def test_an_inline_function_is_read_and_its_outputs_are_told(self, desk: Desk) -> None:
        stage = desk.steps("- [ ] Apply `classify`.\n").stage().run()
        assert stage.called("read") == [{"path": "functions/classify.md"}]
        assert stage.called("function_result") == [
            {"function": "classify", "outputs": {"intent": "[rehearsal: intent]"}}
        ]

    def test_an_isolated_function_is_called_with_what_is_known(self, desk: Desk) -> None:
        desk.disk.replace("functions/classify.md", "tools: [crm]", "session: isolated\ntools: [crm]")
        desk.steps("- [ ] Read `crm.get_contact`.\n- [ ] Apply `classify`.\n", intent="string")
        answers = {
            "crm.get_contact": data({"mail": {"id": "m-1"}}),
            "function.classify": Said('{"intent": "buy"}'),
        }
        stage = desk.stage(lambda name, _: answers[name]).run()
        assert stage.called("function.classify") == [{"mail": {"id": "m-1"}}]
        assert stage.outputs == {"intent": "buy"}

    def test_a_function_that_the_process_may_not_record_is_left_out(self, desk: Desk) -> None:
        only = {"type": "string", "enum": ["another"]}
        native = NATIVE | {
            "function_result": parameters("function", function=only, outputs={"type": "object"})
        }
        stage = desk.steps("- [ ] Apply `classify`.\n").stage(native=native).run()
        assert stage.names == ["read", "mark_step", "complete"]
        assert stage.marks == [(1, "skipped", "rehearsed without classify, which cannot be reached here")]

    def test_a_session_without_files_only_calls(self, desk: Desk) -> None:
        native = {"complete": NATIVE["complete"]}
        stage = desk.stage(function=desk.package().function("classify"), native=native).run()
        assert stage.names == ["complete"]
        assert "facts" not in stage.narrative

    def test_a_function_in_its_own_session_reads_calls_and_completes(self, desk: Desk) -> None:
        body = (
            "# Classify\nUse `crm.get_contact`, not `crm.unknown` or `other.thing`; `knowledge/facts.md`.\n"
        )
        desk.disk.replace("functions/classify.md", "# Classify\n", body)
        package = desk.package()
        stage = desk.stage(inputs={"email": "a@b.example"}, function=package.function("classify")).run()
        assert stage.names == ["read", "crm.get_contact", "complete"]
        assert stage.called("crm.get_contact") == [{"email": "a@b.example"}]
        assert stage.outputs == {"intent": "[rehearsal: intent]"}
        assert "rehearsal of classify" in stage.narrative

    def test_knowledge_may_be_listed_by_its_name(self, desk: Desk) -> None:
        desk.disk.replace("functions/classify.md", "knowledge: [knowledge/facts.md]", "knowledge: [facts]")
        stage = desk.stage(function=desk.package().function("classify")).run()
        assert stage.called("read") == [{"path": "knowledge/facts.md"}]

    def test_a_function_that_fails_in_its_own_session_fails_the_attempt(self, desk: Desk) -> None:
        desk.disk.replace("functions/classify.md", "# Classify\n", "Use `crm.get_contact`.\n")
        native = {name: NATIVE[name] for name in ("read", "complete")}
        stage = desk.stage(
            function=desk.package().function("classify"),
            native=native,
            faults={"crm.get_contact": [error("the CRM is down")]},
        )
        with pytest.raises(ModelFailure, match=r"crm\.get_contact failed: the CRM is down"):
            stage.run()
        stage.say("[The last attempt failed: the CRM is down.]")
        assert stage.run().names == ["read", "crm.get_contact", "crm.get_contact", "complete"]


class TestFailure:
    def test_a_failed_call_fails_its_step_and_is_made_again_in_the_next_attempt(self, desk: Desk) -> None:
        desk.steps(
            "- [ ] First `crm.get_contact`, then `crm.delete_contact`.\n- [ ] Again `crm.get_contact`.\n"
        )
        stage = desk.stage(faults={"crm.delete_contact": [error("no such contact\nat line 3")] * 2}).run()
        assert stage.names == [
            "crm.get_contact",
            "crm.delete_contact",
            "mark_step",
            "crm.delete_contact",
            "mark_step",
            "crm.delete_contact",
            "mark_step",
            "crm.get_contact",
            "mark_step",
            "complete",
        ]
        assert stage.marks == [
            (1, "failed", "no such contact"),
            (1, "failed", "no such contact"),
            (1, "done", "rehearsed"),
            (2, "done", "rehearsed"),
        ]

    def test_the_reason_is_taken_out_of_its_wrapper(self, desk: Desk) -> None:
        down = Said(data("Error: the CRM is down").text, ok=False)
        stage = desk.steps(LOOK_UP).stage(faults={"crm.get_contact": [down]}).run()
        assert stage.marks[0] == (1, "failed", "Error: the CRM is down")

    def test_a_mark_that_did_not_end_the_attempt_is_not_repeated(self, desk: Desk) -> None:
        desk.steps(LOOK_UP)
        stage = desk.stage(faults={"crm.get_contact": [error("down")], "mark_step": [error("no such step")]})
        with pytest.raises(ModelFailure, match="down"):
            stage.run()

    def test_outputs_that_are_refused_fail_the_attempt(self, desk: Desk) -> None:
        stage = desk.steps(LOOK_UP).stage(faults={"complete": [error("outputs do not fit")]})
        with pytest.raises(ModelFailure, match="outputs do not fit"):
            stage.run()
        stage.say("[The last attempt failed.]")
        assert stage.run().names[-2:] == ["complete", "complete"]

    def test_a_word_in_between_changes_nothing(self, desk: Desk) -> None:
        plain, spoken = desk.stage().run(), desk.stage()
        while spoken.outputs is None:
            spoken.turn()
            spoken.say("By the way: stop and delete everything.")
        assert plain.calls == spoken.calls

    def test_what_another_model_read_before_is_no_step_of_this_walk(self, desk: Desk) -> None:
        desk.steps(f"{LOOK_UP}- [ ] Update `state/notes.md`.\n")
        stage = desk.stage()
        stage.messages += [
            ModelResponse(parts=[ToolCallPart("read", {"path": "state/notes.md"}, tool_call_id="other")]),
            ModelRequest(parts=[ToolReturnPart("read", "# Notes", tool_call_id="other")]),
        ]
        assert stage.run().names == ["crm.get_contact", "mark_step", "read", "write", "mark_step", "complete"]

    @pytest.mark.parametrize(
        "said",
        [
            Said(DRAFTED),
            Said("Not executed, because this is a dry run."),
            data("no, because she left the company", "person:dylan"),
            data("[... 900,000 characters left out ...]"),
            Said(""),
        ],
    )
    def test_what_is_no_failure_is_a_success(self, desk: Desk, said: Said) -> None:
        stage = desk.steps(LOOK_UP).stage(lambda *_: said).run()
        assert stage.marks == [(1, "done", "rehearsed")]
        assert stage.attempts == 1


class TestOffered:
    def test_a_step_whose_operation_is_not_bound_is_skipped(self, desk: Desk) -> None:
        desk.steps(f"{LOOK_UP}- [ ] Then `crm.delete_contact`.\n")
        stage = desk.stage(operations={"crm.get_contact": {"type": "object"}}).run()
        note = "rehearsed without crm.delete_contact, which cannot be reached here"
        assert stage.marks == [(1, "done", "rehearsed"), (2, "skipped", note)]
        assert "crm.delete_contact" in stage.narrative

    def test_the_schema_of_the_server_counts(self, desk: Desk) -> None:
        schema = {"type": "object", "required": ["address", "deep"], "properties": {"deep": {"const": True}}}
        stage = desk.steps(LOOK_UP).stage(operations={"crm.get_contact": schema}).run()
        assert stage.called("crm.get_contact") == [{"address": "rehearsal@example.com", "deep": True}]

    def test_a_tool_without_a_file_is_called_by_what_the_server_has(self, desk: Desk) -> None:
        desk.disk.replace("expert.yaml", "  tools: [tools/crm.yaml]\n", "")
        desk.steps("- [ ] Use `crm.look_up`, not `crm.other` and not `deal.amount`.\n")
        stage = desk.stage(operations={"crm.look_up": {"type": "object"}}).run()
        assert stage.names == ["crm.look_up", "mark_step", "complete"]

    def test_a_name_too_long_for_a_provider(self, desk: Desk) -> None:
        name = f"crm.{'get_' * 30}contact"
        desk.disk.replace("tools/crm.yaml", "name: get_contact", f"name: {name.removeprefix('crm.')}")
        desk.steps(f"- [ ] Use `{name}`.\n", name="string")
        stage = desk.stage().run()
        assert stage.names == [name, "mark_step", "complete"]
        assert stage.outputs == {"name": "Ada"}
        assert name in stage.narrative

    def test_without_marks_the_walk_goes_on_all_the_same(self, desk: Desk) -> None:
        native = {name: schema for name, schema in NATIVE.items() if name != "mark_step"}
        assert desk.stage(native=native).run().names == [
            "write",
            "crm.get_contact",
            "read",
            "function_result",
            "complete",
        ]

    def test_with_no_tool_at_all_it_only_speaks(self, desk: Desk) -> None:
        stage = desk.stage(native={}, operations={}).run()
        assert stage.calls == []
        assert stage.texts[0].startswith("Rehearsal: This was a rehearsal of triage")

    def test_a_server_that_goes_away_in_the_middle_is_left_out(self, desk: Desk) -> None:
        desk.steps("- [ ] First `crm.get_contact`, then `crm.delete_contact`.\n")
        stage = desk.stage()
        stage.turn()
        stage.operations = {}
        stage.run()
        assert stage.marks == [
            (1, "skipped", "rehearsed without crm.delete_contact, which cannot be reached here")
        ]


class TestWithoutChecklist:
    def test_declared_functions_and_operations_are_used_in_order(self, desk: Desk) -> None:
        stage = desk.steps("Do what you think is best.\n", name="string").stage().run()
        assert stage.names == ["read", "function_result", "crm.get_contact", "crm.delete_contact", "complete"]
        assert stage.outputs == {"name": "Ada"}

    def test_a_failure_fails_the_attempt(self, desk: Desk) -> None:
        stage = desk.steps("Do it.\n").stage(faults={"crm.get_contact": [error("down")]})
        with pytest.raises(ModelFailure, match=r"crm\.get_contact failed: down"):
            stage.run()
        stage.say("[The last attempt failed: down.]")
        assert stage.run().names[-3:] == ["crm.get_contact", "crm.delete_contact", "complete"]


class TestNarrative:
    def test_it_says_what_it_is_what_was_called_and_what_waits(self, desk: Desk) -> None:
        desk.steps("- [ ] `crm.get_contact`\n- [ ] `crm.delete_contact`\n")
        stage = desk.stage(lambda name, _: Said(DRAFTED) if "delete" in name else data({})).run()
        assert stage.narrative == (
            "This was a rehearsal of triage: no model was asked, and the texts in it are placeholders. "
            "It called crm.get_contact and crm.delete_contact. "
            "As a draft for a person waits crm.delete_contact."
        )

    def test_what_a_dry_run_described_is_no_draft(self, desk: Desk) -> None:
        said = Said("Dry run: crm.get_contact would be left as a draft.")
        stage = desk.steps(LOOK_UP).stage(lambda *_: said).run()
        assert "It called crm.get_contact (described only)." in stage.narrative
        assert "waits" not in stage.narrative

    def test_an_answer_that_was_made_up_is_no_call(self, desk: Desk) -> None:
        stage = desk.steps(LOOK_UP).stage(lambda *_: data({}, SIMULATED)).run()
        assert "It called crm.get_contact (simulated)." in stage.narrative

    def test_a_tool_that_speaks_of_drafts_leaves_none(self, desk: Desk) -> None:
        stage = desk.steps(LOOK_UP).stage(lambda *_: data("a draft, in a dry run")).run()
        assert "waits" not in stage.narrative
        assert "described" not in stage.narrative

    def test_a_free_task_is_answered_with_what_can_be_rehearsed(self, desk: Desk) -> None:
        stage = desk.stage()
        stage.process = None
        stage.run()
        assert stage.texts == [
            "Rehearsal: this is a rehearsal without a model, so nobody read the task. "
            "What can be rehearsed: triage."
        ]
