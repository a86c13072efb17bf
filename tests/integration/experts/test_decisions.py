"""Where each decision of a person leads, and what happens when nobody decides."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from colleague.store.approvals import AlreadyDecided, Approval, WrongDecision
from colleague.store.grants import all_grants, give_grant, revoke_grant
from colleague.store.tables import grants
from colleague.store.tx import Tx
from tests.grants import call_target
from tests.integration.experts.package import CONFIDENCE, Package, function, ledger_package, process, text
from tests.integration.experts.stage import Stage, on_stage, returned
from tests.office import call, calls, finished

DONE = finished()
APPEND = call("ledger.append", "She asked for it.", line="one")
ASKED = {"append": "confirm"}


def with_timeout(on_timeout: str, **more: Any) -> Package:
    policy = {"approval": {"timeout": "24h", "on_timeout": on_timeout}}
    return ledger_package(tiers=ASKED, policy=policy, **more)


def doubting(asks: bool = True, **head: Any) -> Package:
    """A package with an inline and an isolated function that can doubt."""
    outputs = [text("verdict"), CONFIDENCE]
    return Package(
        files={
            "functions/judge.md": function(outputs=outputs),
            "functions/weigh.md": function("weigh", session="isolated", outputs=outputs),
            "processes/work.md": process(functions=["judge", "weigh"], **head),
        },
        manifest={"policy": {"escalation": {"on_low_confidence": asks}}},
    )


def judged(confidence: str) -> dict[str, Any]:
    outputs = {"verdict": "guilty", "confidence": confidence}
    return call("function_result", "I am in doubt.", function="judge", outputs=outputs)


ESCALATE = call("escalate", reason="Two files differ", context="a.md, b.md", recommendation="Take a.md")


@on_stage
async def test_approve_does_exactly_what_was_asked(stage: Stage) -> None:
    stage.install(ledger_package(tiers=ASKED))
    run = await stage.run(APPEND, DONE)
    assert run.status == "waiting"
    asked = await stage.pending()
    assert (asked.kind, asked.operation, json.loads(asked.arguments)) == (
        "confirm",
        "ledger.append",
        {"line": "one"},
    )
    assert asked.reasoning == "She asked for it."
    told = await stage.notice("approval")
    assert (told["operation"], told["arguments"]) == ("ledger.append", {"line": "one"})

    await stage.restart()
    run = await stage.decided("approve")

    assert run.outcome == "completed", run.error
    assert stage.book == ["one"]
    assert "changed the arguments" not in stage.shown()[1].texts[-1]
    with pytest.raises(AlreadyDecided, match="was approved by ann already"):
        await stage.decide("reject", asked)


@on_stage
async def test_an_edited_yes_does_what_the_person_wrote(stage: Stage) -> None:
    stage.install(ledger_package(tiers=ASKED))
    await stage.run(APPEND, DONE)
    run = await stage.decided("approve", answer='{"line": "better"}')
    assert run.outcome == "completed", run.error
    assert stage.book == ["better"]
    heard = stage.shown()[1].texts[-1]
    assert heard.startswith("A person changed the arguments before saying yes; it was done with these:")
    assert '<data source="person:ann">\n{"line": "better"}\n</data>' in heard
    assert "written: better" in heard


@on_stage
async def test_a_no_fails_the_step(stage: Stage) -> None:
    stage.install(ledger_package(tiers=ASKED))
    await stage.run(APPEND, DONE)
    run = await stage.decided("reject", note="wrong book")
    assert (run.outcome, run.error) == ("failed", "ledger.append was rejected by ann: wrong book")
    assert stage.book == []
    assert (await stage.notice("escalation"))["reason"] == run.error


@on_stage
async def test_an_answer_stands_in_the_tools_place(stage: Stage) -> None:
    stage.install(ledger_package(tiers=ASKED))
    await stage.run(APPEND, call("ledger.put", line="two"), DONE)
    run = await stage.decided("respond", answer='"No, write it with put"')
    assert run.outcome == "completed", run.error
    assert stage.book == ["two"]
    heard = stage.shown()[1].texts[-1]
    assert heard == '<data source="person:ann">\nNo, write it with put\n</data>'


@on_stage
async def test_silence_rejects(stage: Stage) -> None:
    stage.install(with_timeout("reject"))
    await stage.run(APPEND, DONE)
    assert (await stage.later(seconds=86_399)).status == "waiting"
    await stage.restart()
    run = await stage.later(seconds=1)
    assert (run.outcome, run.error) == ("failed", "ledger.append was rejected: nobody answered in time")
    [asked] = await stage.approvals()
    assert asked.status == "expired"
    with pytest.raises(AlreadyDecided):
        await stage.decide("approve", asked)
    assert stage.book == []


@on_stage
async def test_silence_is_escalated_and_a_late_yes_counts(stage: Stage) -> None:
    stage.install(with_timeout("escalate"))
    await stage.run(APPEND, DONE)
    await stage.restart()
    run = await stage.later(days=1)
    assert run.status == "waiting"
    told = await stage.notice("escalation")
    asked = await stage.pending()
    assert told["reason"] == f"nobody has answered confirm {asked.id[-8:]} in time"
    assert told["context"] == {"operation": "ledger.append", "arguments": {"line": "one"}}
    assert asked.id[-8:] in told["recommendation"]

    await stage.later(days=30)
    assert len(await stage.messages("escalation")) == 1
    run = await stage.decided("approve")
    assert run.outcome == "completed", run.error
    assert stage.book == ["one"]


@on_stage
async def test_the_second_of_two_runs_out_while_the_first_is_decided(stage: Stage) -> None:
    stage.install(with_timeout("reject"))
    both = calls(("ledger.append", {"line": "one"}), ("ledger.append", {"line": "two"}))
    await stage.run(both, DONE)
    one, _ = await stage.approvals()
    await stage.later(seconds=86_000)
    await stage.decide("approve", one)
    run = await stage.go_on()
    assert (run.status, stage.book) == ("waiting", ["one"])
    run = await stage.later(seconds=400)
    assert run.outcome == "failed"
    assert stage.book == ["one"]


@pytest.mark.parametrize("confidence", ["high", "medium"])
@on_stage
async def test_confidence_asks_nobody(stage: Stage, confidence: str) -> None:
    stage.install(doubting())
    run = await stage.run(judged(confidence), DONE)
    assert run.outcome == "completed", run.error
    assert await stage.approvals() == []


@on_stage
async def test_low_confidence_in_an_inline_function_is_asked(stage: Stage) -> None:
    stage.install(doubting())
    run = await stage.run(judged("low"), DONE)
    assert run.status == "waiting"
    asked = await stage.pending()
    assert (asked.kind, asked.operation, asked.reasoning) == (
        "low_confidence",
        "function_result",
        "I am in doubt.",
    )
    run = await stage.decided("approve")
    assert run.outcome == "completed", run.error
    assert stage.shown()[1].texts[-1] == "The outputs of judge are recorded."


@on_stage
async def test_low_confidence_in_an_isolated_function_is_asked(stage: Stage) -> None:
    stage.install(doubting())
    doubt = call("complete", narrative="", outputs={"verdict": "guilty", "confidence": "low"})
    stage.play(
        {"when": "Run the process", **call("function.weigh")},
        {"when": "Apply weigh", **doubt},
        {"when": "guilty", **DONE},
    )
    await stage.ask()
    run = await stage.go_on()
    assert run.status == "waiting"
    asked = await stage.pending()
    assert (asked.kind, asked.operation) == ("low_confidence", "complete")
    assert json.loads(asked.arguments)["outputs"]["verdict"] == "guilty"

    await stage.restart()
    run = await stage.decided("approve")

    assert run.outcome == "completed", run.error
    assert returned(stage.shown()[-1].texts[-1]) == {"verdict": "guilty", "confidence": "low"}


@on_stage
async def test_low_confidence_in_a_result_is_asked(stage: Stage) -> None:
    stage.install(doubting(outputs=[text("verdict"), CONFIDENCE]))
    outputs = {"verdict": "guilty", "confidence": "low"}
    run = await stage.run(finished("Guilty.", outputs=outputs))
    assert run.status == "waiting"
    assert await stage.messages("delivery") == []
    run = await stage.decided("approve")
    assert (run.outcome, json.loads(run.outputs or "")) == ("completed", outputs)


@on_stage
async def test_a_question_of_the_agent_is_asked(stage: Stage) -> None:
    stage.install(doubting())
    run = await stage.run(ESCALATE, DONE)
    assert run.status == "waiting"
    asked = await stage.pending()
    assert (asked.kind, asked.operation) == ("low_confidence", "escalate")
    assert json.loads(asked.arguments)["recommendation"] == "Take a.md"
    run = await stage.decided("approve")
    assert run.outcome == "completed", run.error
    assert stage.shown()[1].texts[-1] == "A person agrees. Go on as you recommend: Take a.md"


@pytest.mark.parametrize("doubt", [judged("low"), ESCALATE], ids=["function_result", "escalate"])
@on_stage
async def test_nobody_is_asked_when_the_package_says_so(stage: Stage, doubt: dict[str, Any]) -> None:
    stage.install(doubting(False))
    run = await stage.run(doubt, DONE)
    assert run.outcome == "completed", run.error
    assert await stage.approvals() == []


@pytest.mark.parametrize("doubt", [judged("low"), ESCALATE], ids=["function_result", "escalate"])
@on_stage
async def test_a_person_answers_a_doubt_in_their_own_words(stage: Stage, doubt: dict[str, Any]) -> None:
    stage.install(doubting())
    await stage.run(doubt, judged("high"), DONE)
    run = await stage.decided("respond", answer='"Not guilty: see c.md"')
    assert run.outcome == "completed", run.error
    assert "Not guilty: see c.md" in stage.shown()[1].texts[-1]


@pytest.mark.parametrize("doubt", [judged("low"), ESCALATE], ids=["function_result", "escalate"])
@on_stage
async def test_a_no_to_a_doubt_stops_the_work(stage: Stage, doubt: dict[str, Any]) -> None:
    stage.install(doubting())
    await stage.run(doubt, DONE)
    run = await stage.decided("reject", note="stop")
    assert run.outcome == "failed"
    assert str(run.error).endswith("was rejected by ann: stop")


@on_stage
async def test_a_confidence_that_is_no_word_of_the_function_is_refused(stage: Stage) -> None:
    stage.install(doubting())
    run = await stage.run(judged("LOW"), judged("high"), DONE)
    assert run.outcome == "completed", run.error
    assert "confidence" in stage.shown()[1].texts[-1]
    assert [each.is_error for each in await stage.calls("function_result")] == [True, False]


@pytest.mark.parametrize("tells", [True, False])
@on_stage
async def test_a_draft_is_delivered_and_the_run_goes_on(stage: Stage, tells: bool) -> None:
    policy = {"escalation": {"on_manual_ready": tells}}
    stage.install(ledger_package(tiers={"append": "manual"}, policy=policy))
    run = await stage.run(APPEND, DONE)
    assert run.outcome == "completed", run.error
    assert stage.book == []
    assert stage.shown()[1].texts[-1] == "Left as a draft for a person; this step is done."
    draft = await stage.pending()
    assert (draft.kind, json.loads(draft.arguments)) == ("draft", {"line": "one"})
    told = await stage.messages("draft")
    assert [(each.channel, each.status) for each in told] == ([("main", "unread")] if tells else [])
    with pytest.raises(WrongDecision, match="approve is no answer to a question of kind draft"):
        await stage.decide("approve")


@pytest.mark.parametrize("decision", ["done", "not_done"])
@on_stage
async def test_a_draft_is_settled_after_the_run(stage: Stage, decision: str) -> None:
    stage.install(ledger_package(tiers={"append": "manual"}))
    run = await stage.run(APPEND, DONE)
    await stage.restart()
    stage.clock.move(days=2)
    settled = await stage.decide(decision, answer='{"sent": true}' if decision == "done" else None)
    assert (settled.status, settled.decision, settled.decided_by) == ("decided", decision, "ann")
    again = await stage.go_on()
    assert (again.status, again.outcome, again.attempt) == ("done", "completed", run.attempt)
    assert stage.book == []


@on_stage
async def test_a_draft_is_settled_while_the_run_waits_for_something_else(stage: Stage) -> None:
    stage.install(ledger_package(tiers={"append": "manual", "put": "confirm"}))
    run = await stage.run(APPEND, call("ledger.put", line="two"), DONE)
    assert run.status == "waiting"
    draft, asked = await stage.approvals()
    await stage.decide("done", draft)
    assert (await stage.go_on()).status == "waiting"
    await stage.decide("approve", asked)
    run = await stage.go_on()
    assert run.outcome == "completed", run.error
    assert stage.book == ["two"]


async def asked(stage: Stage) -> Approval:
    """The question about the first call; the run is ended by a no in the end of the test."""
    assert (await stage.run(APPEND, DONE)).status == "waiting"
    return await stage.pending()


async def grant(stage: Stage, approval: Approval, **more: Any) -> str:
    def work(tx: Tx) -> str:
        operation = more.pop("operation", approval.operation)
        expert = more.pop("expert", "clerk")
        return give_grant(tx, expert, operation, call_target(tx, approval), by="ann", **more)

    return await stage.database.write(work)


@on_stage
async def test_a_grant_for_a_run_ends_with_it(stage: Stage) -> None:
    stage.install(ledger_package(tiers=ASKED))
    more = [call("ledger.append", line=line) for line in ("two", "three")]
    await stage.run(APPEND, *more, DONE)
    await grant(stage, await stage.pending(), run_id=stage.run_id)
    run = await stage.decided("approve")
    assert run.outcome == "completed", run.error
    assert stage.book == ["one", "two", "three"]
    [given] = await stage.database.read(all_grants)
    assert given.uses == 2
    assert (await stage.run(APPEND, DONE)).status == "waiting"


@on_stage
async def test_a_grant_for_a_time_ends_then(stage: Stage) -> None:
    stage.install(ledger_package(tiers=ASKED))
    await grant(stage, await asked(stage), lasts_ms=1_800_000)
    await stage.decided("approve")
    assert (await stage.run(APPEND, DONE)).outcome == "completed"
    stage.clock.move(seconds=1_799)
    assert (await stage.run(APPEND, DONE)).outcome == "completed"
    stage.clock.move(seconds=1)
    assert (await stage.run(APPEND, DONE)).status == "waiting"


@on_stage
async def test_a_revoked_grant_counts_no_more(stage: Stage) -> None:
    stage.install(ledger_package(tiers=ASKED))
    given = await grant(stage, await asked(stage))
    await stage.decided("approve")
    await stage.database.write(lambda tx: revoke_grant(tx, given))
    assert (await stage.run(APPEND, DONE)).status == "waiting"


@on_stage
async def test_a_grant_decides_no_question_that_was_asked_before(stage: Stage) -> None:
    stage.install(ledger_package(tiers=ASKED))
    await grant(stage, await asked(stage))
    assert (await stage.go_on()).status == "waiting"
    assert stage.book == []


@on_stage
async def test_a_grant_never_relaxes_manual(stage: Stage) -> None:
    stage.install(ledger_package(tiers={"append": "manual"}))
    await stage.run(APPEND, DONE)
    await grant(stage, await stage.pending())
    run = await stage.run(APPEND, DONE)
    assert run.outcome == "completed"
    assert stage.book == []
    assert (await stage.pending()).kind == "draft"


@on_stage
async def test_a_grant_is_for_one_expert_and_one_operation(stage: Stage) -> None:
    stage.install(ledger_package(tiers={"append": "confirm", "put": "confirm"}))
    approval = await asked(stage)
    await grant(stage, approval, expert="someone-else")
    await grant(stage, approval, operation="ledger.put")
    await stage.decided("approve")
    assert (await stage.run(APPEND, DONE)).status == "waiting"


@on_stage
async def test_a_grant_with_an_argument_holds_for_that_value(stage: Stage) -> None:
    stage.install(ledger_package(tiers=ASKED))
    await grant(stage, await asked(stage), only={"line": "one"})
    await stage.decided("approve")
    assert (await stage.run(APPEND, DONE)).outcome == "completed"
    assert (await stage.run(call("ledger.append", line="two"), DONE)).status == "waiting"
    assert stage.book == ["one", "one"]


@on_stage
async def test_a_grant_without_a_target_counts_for_nothing(stage: Stage) -> None:
    """As an older version wrote it."""
    stage.install(ledger_package(tiers=ASKED))
    given = await grant(stage, await asked(stage))
    await stage.decided("approve")
    await stage.database.write(lambda tx: tx.update(grants, {"id": given}, server=None, launch_digest=None))
    assert (await stage.run(APPEND, DONE)).status == "waiting"
    assert "give it again" in (await stage.pending()).reasoning


@on_stage
async def test_a_grant_does_not_repeat_what_may_have_happened(stage: Stage) -> None:
    stage.install(ledger_package(tiers={"fail": "confirm"}))
    failing = call("ledger.fail", line="one")
    await stage.run(failing, failing, DONE)
    await grant(stage, await stage.pending())
    assert (await stage.decided("approve")).status == "waiting"
    assert "may have happened" in (await stage.pending()).reasoning
    assert stage.book == ["one"]


@on_stage
async def test_a_grant_relaxes_no_doubt(stage: Stage) -> None:
    """A yes to writing is no yes to a judgment that the agent itself doubts."""
    stage.install(doubting())
    assert (await stage.run(judged("low"), DONE)).status == "waiting"
    await grant(stage, await stage.pending(), operation="ledger.append")
    assert (await stage.run(judged("low"), DONE)).status == "waiting"


@on_stage
async def test_an_error_that_may_have_happened_asks_the_second_time(stage: Stage) -> None:
    stage.install(ledger_package())
    failing = call("ledger.fail", line="one")
    run = await stage.run(failing, failing, DONE)
    assert run.status == "waiting"
    assert stage.book == ["one"]
    run = await stage.decided("approve")
    assert run.outcome == "completed", run.error
    assert stage.book == ["one", "one"]


def claiming(operation: str, **claim: Any) -> Package:
    """A package whose tool file says something of an operation beside its name and shape."""
    package = ledger_package()
    shape = {"name": operation, "description": operation, "input": {"line": "string"}}
    tool = {"name": "ledger", "description": "Lines in a book", "operations": [shape | claim]}
    package.files["tools/ledger.yaml"] = yaml.safe_dump(tool)
    return package


def reading(*operations: str) -> dict[str, Any]:
    return {"tools": {"ledger": {"server": "ledger", "reads": list(operations)}}}


@pytest.mark.parametrize(
    ("operation", "claim", "bindings", "asked"),
    [
        ("fail", {}, {}, True),
        ("fail", {"reads": True}, {}, False),
        ("fail", {"side_effects": "none"}, {}, False),
        ("fail", {"reads": False}, {}, True),
        ("fail", {}, reading("fail"), False),
        ("strike", {"reads": True}, {}, True),
        ("strike", {}, reading("strike"), False),
    ],
    ids=["unsaid", "package", "side effects", "package says no", "binding", "server wins", "binding wins"],
)
@on_stage
async def test_who_says_that_an_operation_only_reads(
    stage: Stage, operation: str, claim: dict[str, Any], bindings: dict[str, Any], asked: bool
) -> None:
    """The user's binding, then the server, then the package."""
    stage.install(claiming(operation, **claim), **bindings)
    failing = call(f"ledger.{operation}", line="one")
    run = await stage.run(failing, failing, DONE)
    assert (run.status == "waiting") == asked, run.error
    assert stage.book == (["one"] if asked else ["one", "one"])


@on_stage
async def test_what_the_home_denies_is_denied_to_an_expert(stage: Stage) -> None:
    stage.configure(tools={"deny": ["ledger__append"], "profile": "minimal"})
    await stage.restart()
    stage.install(ledger_package())
    run = await stage.run(APPEND, DONE)
    assert run.outcome == "completed"
    [shown, after] = stage.shown()
    assert "ledger.append" not in shown.tools
    assert (
        "ledger.append may not be used here: tools.deny: ledger__append (policy layer: global)"
        in after.texts[-1]
    )
    assert stage.book == []


@on_stage
async def test_a_tier_of_the_home_only_tightens(stage: Stage) -> None:
    stage.configure(tools={"approvals": {"ledger.append": "confirm", "ledger.look": "auto"}})
    await stage.restart()
    stage.install(ledger_package(tiers={"look": "confirm"}))
    run = await stage.run(APPEND, DONE)
    assert (run.status, (await stage.pending()).operation) == ("waiting", "ledger.append")
