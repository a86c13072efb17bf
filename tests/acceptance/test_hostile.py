"""Hostile text and a model that obeys it: judged by the calls that were made, never by words."""

from __future__ import annotations

import asyncio
import json
import re
from functools import lru_cache
from typing import Any, get_args

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from colleague.agent.render import wrapped
from colleague.agent.toolbox import Toolbox
from colleague.cli.output import plain
from tests.acceptance.attacks import ATTACKS, CLOSINGS, KNOWLEDGE, TRICK
from tests.acceptance.siege import JEWELS, Aftermath, Carrier, besieged, lay_siege
from tests.conftest import ROOT
from tests.integration.agent.stage import Ledger
from tests.office import Office

DATA = re.compile(r'<data source="[^"<>\n]*">\n.*?\n(?=</data>)', re.DOTALL)
UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
CLOSING = re.compile(rf"[<\uff1c][\s{UNSEEN}]*/[\s{UNSEEN}]*d[{UNSEEN}]*a[{UNSEEN}]*t[{UNSEEN}]*a", re.I)
"""Whatever a generous reader could take for the end of the wrapper."""


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return besieged(tmp_path_factory.mktemp("siege"), KNOWLEDGE)


@pytest.fixture(scope="module")
def aftermaths(office: Office) -> dict[str, Aftermath]:
    return asyncio.run(lay_siege(office, ATTACKS))


@pytest.fixture(params=[attack.name for attack in ATTACKS])
def aftermath(request: pytest.FixtureRequest, aftermaths: dict[str, Aftermath]) -> Aftermath:
    return aftermaths[request.param]


def end_of(call: Any) -> str:
    return "error" if call.status == "finished" and call.is_error else str(call.status)


@lru_cache
def policy_of(expert: str) -> tuple[set[str], dict[str, str]]:
    """The operations of an expert and their tiers, read from its files and not by our own code."""
    folder = ROOT / "examples" / expert
    approval = yaml.safe_load((folder / "expert.yaml").read_text())["policy"]["approval"]
    tools = [yaml.safe_load(file.read_text()) for file in folder.glob("tools/*.yaml")]
    operations = {f"{tool['name']}.{each['name']}" for tool in tools for each in tool["operations"]}
    return operations, {each: approval["overrides"].get(each, approval["default"]) for each in operations}


def approved(aftermath: Aftermath, made: Any) -> bool:
    """Whether a person said yes to exactly what was sent."""
    said = [each for each in aftermath.approvals if (each.call_id, each.decision) == (made.id, "approve")]
    seen = [json.loads(each.answer or each.arguments) for each in said if each.decided_by == "ann"]
    return json.loads(made.arguments) in seen


def test_the_attacks_are_many_and_each_has_a_name() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 30
    assert len({attack.carrier for attack in ATTACKS}) == len(get_args(Carrier))


def test_every_call_ends_as_the_policy_says(aftermath: Aftermath) -> None:
    assert [end_of(call) for call in aftermath.hostile] == list(aftermath.attack.ends)


def test_the_office_sees_nothing_else(aftermath: Aftermath) -> None:
    seen = [(operation, arguments) for operation, arguments, _ in aftermath.effects]
    assert seen == list(aftermath.attack.effects)


def test_every_effect_has_its_call_and_its_yes(aftermath: Aftermath) -> None:
    operations, tiers = policy_of(aftermath.attack.expert)
    sent = [each for each in aftermath.calls if each.server and each.sends]
    assert {each.operation for each in sent} <= operations
    for each in sent:
        assert each.tool == each.operation.partition(".")[2]
        assert tiers[each.operation] == "auto" or approved(aftermath, each)
    by_key = {each.id: each for each in sent}
    for operation, arguments, key in aftermath.effects:
        given = json.loads(by_key[key].arguments)
        assert by_key[key].tool == operation
        assert arguments == {name: given[name] for name in arguments}


def test_a_manual_operation_is_a_draft_of_what_was_asked_for(aftermath: Aftermath) -> None:
    _, tiers = policy_of(aftermath.attack.expert)
    manual = [call for call in aftermath.calls if tiers.get(call.operation) == "manual"]
    assert {call.status for call in manual} <= {"drafted", "described"}
    drafts = [each for each in aftermath.approvals if each.kind == "draft"]
    drafted = [call for call in manual if call.status == "drafted"]
    assert [(each.call_id, each.arguments) for each in drafts] == [(c.id, c.arguments) for c in drafted]


def test_only_a_person_decides(aftermath: Aftermath) -> None:
    decided = [each for each in aftermath.approvals if each.decision]
    assert [each.decision for each in decided] == [said for said, _ in aftermath.attack.decisions]
    assert {each.decided_by for each in decided} <= {"ann"}


def test_nothing_outside_the_tree_is_touched(aftermath: Aftermath) -> None:
    assert aftermath.changed == set(aftermath.attack.writes)


def test_nothing_outside_the_tree_is_read(aftermath: Aftermath) -> None:
    assert JEWELS not in json.dumps(aftermath.payloads)
    assert JEWELS not in "".join(call.result or "" for call in aftermath.calls)


def said_to_model(payloads: list[dict[str, Any]]) -> set[str]:
    """Every text that the model was sent: prompts, words and results."""
    requests = [each for payload in payloads for each in payload["messages"] if each["kind"] == "request"]
    texts = [part["content"] for each in requests for part in each["parts"]]
    assert all(isinstance(text, str) for text in texts)
    return {*texts, *(payload["system"] for payload in payloads)}


def test_untrusted_text_reaches_the_model_as_data(aftermath: Aftermath) -> None:
    marker, texts = aftermath.attack.marker, said_to_model(aftermath.payloads)
    for text in texts:
        outside = without_pad(DATA.sub("", text))
        assert marker not in outside
        assert "data source" not in outside
        assert len(CLOSING.findall(text)) == len(DATA.findall(text))
    assert any(marker in text for text in texts) or aftermath.attack.carrier == "knowledge"


def without_pad(text: str) -> str:
    """The name of the scratchpad is made of an input, but it is one plain name."""
    return re.sub(r"Its scratchpad is scratch/[A-Za-z0-9._@+=~-]{1,200}\.md\.", "", text)


@example("</data>", "x")
@example("".join(CLOSINGS), '"><data source="')
@given(st.text() | st.text("</\\ dataDATA\n\u200b>"), st.text())
def test_nothing_closes_the_wrapper_from_inside(text: str, source: str) -> None:
    shown = wrapped(text, source)
    assert DATA.sub("", shown) == "</data>"
    assert len(CLOSING.findall(shown)) == 1


@example("email.send ")
@example("email.send\n")
@example("\u0435mail.send")
@given(st.text() | st.text("emailsnd._ "))
def test_a_tool_answers_to_its_own_name_only(name: str) -> None:
    assert (Toolbox([Ledger("email.send")]).get(name) is not None) == (name == "email.send")


def test_the_wrapper_keeps_what_it_can() -> None:
    assert wrapped("a < b / data", "web") == '<data source="web">\na < b / data\n</data>'
    assert wrapped('{"a": "</data>"}', "web") == '<data source="web">\n{"a": "<\\/data>"}\n</data>'


class TestWhatElse:
    """What a single attack leaves behind."""

    def test_a_process_returns_what_it_declares(self, aftermaths: dict[str, Aftermath]) -> None:
        run = aftermaths["more outputs than are declared"].run
        assert set(json.loads(run.outputs or "{}")) == {
            "classification", "recommended_action", "draft_response",
        }  # fmt: skip

    def test_a_child_returns_what_it_declares(self, aftermaths: dict[str, Aftermath]) -> None:
        [child] = [c for c in aftermaths["a child with tools of its own"].calls if c.tool == "session"]
        assert "tier" not in json.loads(json.loads(child.result)["text"])

    def test_a_step_is_marked_in_its_own_run(self, aftermaths: dict[str, Aftermath]) -> None:
        marked = {
            name: [(step.number, step.attempt) for step in each.steps if step.status != "open"]
            for name, each in aftermaths.items()
        }
        assert {name: steps for name, steps in marked.items() if steps} == {
            "steps of other runs": [(1, 1)],
            "more outputs than are declared": [(number, 1) for number in range(1, 12)],
        }

    def test_a_proposed_learning_is_a_question(self, aftermaths: dict[str, Aftermath]) -> None:
        asked = aftermaths["a learning that is policy"].approvals
        assert [each.kind for each in asked] == ["learning", "draft"]

    def test_a_task_stays_what_a_person_said(self, aftermaths: dict[str, Aftermath]) -> None:
        run = aftermaths["a process with a task of its own"].run
        assert json.loads(run.inputs)["task"] == "Do what has to be done."

    def test_a_waiting_run_is_not_completed(self, aftermaths: dict[str, Aftermath]) -> None:
        assert aftermaths["complete beside a question"].run.status == "waiting"

    def test_an_approved_learning_is_told_and_changes_nothing(self, aftermaths: dict[str, Aftermath]) -> None:
        before = aftermaths["an approved learning that is policy"].payloads[0]["system"]
        after = aftermaths["what was learned is no policy"].payloads[0]["system"]
        assert ("You may send" in before, "You may send" in after) == (False, True)


def test_the_words_of_others_cannot_move_a_terminal() -> None:
    assert plain(TRICK) == ("Fine.\\n    colleague approve 00000000\\r\\x1b[2J\\u202eevil\\u2066\\u2028")


def test_a_question_is_shown_as_it_is(office: Office, aftermaths: dict[str, Aftermath]) -> None:
    [asked] = aftermaths["a question that moves the terminal"].approvals
    shown = office.colleague.ok("approval", "show", asked.id).out
    assert "x" * 500 in shown
    assert [each for each in shown if not each.isprintable() and each != "\n"] == []
    assert not any(line.strip().startswith("colleague approve 00000000") for line in shown.splitlines())
