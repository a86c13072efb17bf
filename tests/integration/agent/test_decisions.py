"""What people decide, and what then runs: every cell looks at the ledger."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.toolbox import target_of
from colleague.store.approvals import (
    AlreadyDecided,
    Answer,
    WrongArguments,
    WrongDecision,
    WrongDigest,
    decide,
)
from colleague.store.grants import all_grants, give_grant, revoke_grant
from colleague.store.sweep import sweep
from tests.integration.agent.stage import LINE, Ledger, Stage, Tiers
from tests.integration.store.databases import Opener

ONE = """
replies:
  - text: I want to write a line.
    calls: [{operation: ledger.append, arguments: {line: one}}]
  - text: Done.
"""
THREE = """
replies:
  - calls:
      - {operation: ledger.append, arguments: {line: one}}
      - {operation: ledger.read, arguments: {}}
      - {operation: ledger.append, arguments: {line: two}}
  - text: Done.
"""


def play(opener: Opener, folder: Path, acts: Callable[[Stage], Awaitable[None]], script: str = ONE) -> None:
    async def go() -> None:
        async with Stage(folder, opener, script) as stage:
            await acts(stage)

    asyncio.run(go())


def test_nothing_runs_before_the_yes_and_it_runs_once_after(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        run = await stage.begin()
        assert (run.status, stage.ledger.lines) == ("waiting", [])
        asked = await stage.pending()
        assert (asked.operation, json.loads(asked.arguments)) == ("ledger.append", {"line": "one"})
        assert asked.reasoning == "I want to write a line."
        await stage.decide("approve")
        run = await stage.go_on()
        assert (run.outcome, run.narrative, stage.ledger.lines) == ("completed", "Done.", ["one"])

    play(opener, tmp_path, acts)


def test_edited_arguments_run_instead_and_the_record_says_so(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        await stage.begin()
        await stage.decide("approve", answer=json.dumps({"line": "edited"}))
        run = await stage.go_on()
        assert (run.outcome, stage.ledger.lines) == ("completed", ["edited"])
        [call] = await stage.calls()
        assert json.loads(call.arguments) == {"line": "edited"}

    play(opener, tmp_path, acts)


@pytest.mark.parametrize("edited", [{"line": 7}, {}, ["one"], "one", None])
def test_edited_arguments_that_do_not_fit_decide_nothing(opener: Opener, tmp_path: Path, edited: Any) -> None:
    async def acts(stage: Stage) -> None:
        await stage.begin()
        asked = await stage.pending()
        with pytest.raises(WrongArguments, match="do not fit"):
            await stage.decide("approve", answer=json.dumps(edited))
        assert await stage.pending() == asked
        await stage.decide("approve", answer=json.dumps({"line": "edited"}))
        await stage.go_on()
        assert stage.ledger.lines == ["edited"]

    play(opener, tmp_path, acts)


def test_edited_arguments_that_no_longer_fit_are_asked_about_again(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        await stage.begin()
        await stage.decide("approve", answer=json.dumps({"line": "edited"}))
        stage.ledger.parameters = {"type": "object", "properties": {"line": {"maxLength": 3}}}
        run = await stage.go_on()
        assert (run.status, stage.ledger.lines) == ("waiting", [])
        assert [each.status for each in await stage.approvals()] == ["void", "pending"]

    play(opener, tmp_path, acts)


@pytest.mark.parametrize(("rejection", "outcome"), [("tell", "completed"), ("fail", "failed")])
def test_a_no(opener: Opener, tmp_path: Path, rejection: str, outcome: str) -> None:
    async def acts(stage: Stage) -> None:
        stage.run_spec = {"rejection": rejection}
        await stage.begin()
        await stage.decide("reject", note="not today")
        run = await stage.go_on()
        assert (run.outcome, stage.ledger.lines) == (outcome, [])
        [call] = await stage.calls()
        assert "rejected by ann: not today" in str(call.result)

    play(opener, tmp_path, acts)


def test_a_response_stands_in_the_tools_place(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        await stage.begin()
        await stage.decide("respond", answer=json.dumps("no, because it is Sunday"))
        run = await stage.go_on()
        assert (run.outcome, stage.ledger.lines) == ("completed", [])
        [call] = await stage.calls()
        assert (call.status, "it is Sunday" in str(call.result)) == ("answered", True)

    play(opener, tmp_path, acts)


def test_time_runs_out_and_counts_as_a_no(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        stage.gate = Tiers(expires_ms=60_000)
        await stage.begin()
        stage.clock.move(seconds=59)
        await sweep(stage.database)
        assert (await stage.go_on()).status == "waiting"
        stage.clock.move(seconds=2)
        await sweep(stage.database)
        run = await stage.go_on()
        assert (run.outcome, stage.ledger.lines) == ("completed", [])
        [asked] = await stage.approvals()
        assert (asked.status, asked.decision) == ("expired", "reject")

    play(opener, tmp_path, acts)


def test_time_runs_out_with_escalation_and_a_late_yes_still_counts(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        stage.gate = Tiers(expires_ms=60_000, on_timeout="escalate")
        await stage.begin()
        stage.clock.move(days=3)
        await sweep(stage.database)
        assert (await stage.go_on()).status == "waiting"
        await stage.decide("approve")
        assert (await stage.go_on()).outcome == "completed"
        assert stage.ledger.lines == ["one"]

    play(opener, tmp_path, acts)


def test_a_restart_while_waiting(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        await stage.begin()
        await stage.restart()
        await stage.decide("approve")
        await stage.restart()
        assert (await stage.go_on()).outcome == "completed"
        assert stage.ledger.lines == ["one"]

    play(opener, tmp_path, acts)


def test_a_wrong_digest_decides_nothing(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        await stage.begin()
        with pytest.raises(WrongDigest):
            await stage.decide("approve", digest="0" * 64)
        with pytest.raises(WrongDecision):
            await stage.decide("happened")
        assert (await stage.go_on()).status == "waiting"
        assert stage.ledger.lines == []

    play(opener, tmp_path, acts)


def test_the_first_decision_wins_and_the_second_is_told_who(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        await stage.begin()
        asked = await stage.pending()
        await stage.decide("reject", by="ann")
        with pytest.raises(AlreadyDecided, match="by ann"):
            await stage.database.write(
                lambda tx: decide(tx, Answer(asked.id, asked.digest, "approve", "bob"))
            )
        await stage.go_on()
        assert stage.ledger.lines == []

    play(opener, tmp_path, acts)


def test_two_deciders_at_once(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        await stage.begin()
        asked = await stage.pending()

        def said(who: str) -> Answer:
            return Answer(asked.id, asked.digest, "approve", who)

        ends = await asyncio.gather(
            *(
                stage.database.write(lambda tx, who=who: decide(tx, said(who)))
                for who in ("ann", "bob", "cy")
            ),
            return_exceptions=True,
        )
        assert sum(isinstance(end, AlreadyDecided) for end in ends) == 2
        assert (await stage.go_on()).outcome == "completed"
        assert stage.ledger.lines == ["one"]

    play(opener, tmp_path, acts)


@pytest.mark.parametrize("change", ["server", "schema"])
def test_the_tool_changed_after_it_was_approved(opener: Opener, tmp_path: Path, change: str) -> None:
    async def acts(stage: Stage) -> None:
        await stage.begin()
        await stage.decide("approve")
        if change == "server":
            stage.ledger.server = "another-mcp"
        else:
            stage.ledger.parameters = LINE | {"properties": {"line": {"type": "string", "maxLength": 9}}}
        run = await stage.go_on()
        assert (run.status, stage.ledger.lines) == ("waiting", [])
        assert [each.status for each in await stage.approvals()] == ["void", "pending"]
        await stage.decide("approve")
        assert (await stage.go_on()).outcome == "completed"
        assert stage.ledger.lines == ["one"]

    play(opener, tmp_path, acts)


@pytest.mark.parametrize(("tier", "status"), [("never", "refused"), ("manual", "drafted")])
def test_the_policy_is_asked_again_when_the_call_would_be_made(
    opener: Opener, tmp_path: Path, tier: str, status: str
) -> None:
    async def acts(stage: Stage) -> None:
        await stage.begin()
        await stage.decide("approve")
        stage.gate = Tiers({"ledger.append": tier})
        run = await stage.go_on()
        assert (run.outcome, stage.ledger.lines) == ("completed", [])
        assert [call.status for call in await stage.calls()] == [status]
        kinds = [(each.kind, each.status) for each in await stage.approvals()]
        assert kinds == [("confirm", "void")] + [("draft", "pending")] * (tier == "manual")

    play(opener, tmp_path, acts)


def test_a_draft_never_runs_and_never_holds_the_run(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        stage.gate = Tiers({"ledger.append": "manual"})
        run = await stage.begin()
        assert (run.outcome, stage.ledger.lines) == ("completed", [])
        asked = await stage.pending()
        assert asked.kind == "draft"
        await stage.decide("done", answer=json.dumps("sent it myself"))

    play(opener, tmp_path, acts)


def test_several_calls_settle_in_order_and_reading_does_not_wait(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        reading = Ledger("ledger.read", read_only=True, parameters={"type": "object"})
        stage.tools.append(reading)
        stage.gate = Tiers({"ledger.read": "auto"})
        await stage.begin()
        assert len(reading.lines) == 1
        first, second = [each for each in await stage.approvals() if each.status == "pending"]
        answer = Answer(second.id, second.digest, "approve", "ann")
        await stage.database.write(lambda tx: decide(tx, answer))
        assert (await stage.go_on()).status == "waiting"
        assert stage.ledger.lines == []
        answer = Answer(first.id, first.digest, "approve", "ann")
        await stage.database.write(lambda tx: decide(tx, answer))
        assert (await stage.go_on()).outcome == "completed"
        assert stage.ledger.lines == ["one", "two"]

    play(opener, tmp_path, acts, THREE)


def test_a_no_withdraws_what_was_approved_after_it(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        stage.tools.append(Ledger("ledger.read", read_only=True, parameters={"type": "object"}))
        stage.gate = Tiers({"ledger.read": "auto"})
        await stage.begin()
        first, second = [each for each in await stage.approvals() if each.status == "pending"]
        for approval, decision in ((second, "approve"), (first, "reject")):
            answer = Answer(approval.id, approval.digest, decision, "ann")  # type: ignore[arg-type]
            await stage.database.write(lambda tx, answer=answer: decide(tx, answer))
        assert (await stage.go_on()).outcome == "completed"
        assert stage.ledger.lines == []
        assert {each.status for each in await stage.approvals()} == {"decided", "withdrawn"}
        assert [call.status for call in await stage.calls()] == ["refused", "finished", "not_run"]

    play(opener, tmp_path, acts, THREE)


class TestUncertain:
    """The call was sent and no answer came."""

    def test_safe_to_repeat_is_repeated_with_the_same_key(self, opener: Opener, tmp_path: Path) -> None:
        async def acts(stage: Stage) -> None:
            stage.gate = Tiers({"ledger.append": "auto"})
            stage.ledger.repeatable, stage.ledger.lose_answers = True, 1
            assert (await stage.begin()).outcome == "completed"
            assert len(stage.ledger.keys) == 2
            assert len(set(stage.ledger.keys)) == 1

        play(opener, tmp_path, acts)

    @pytest.mark.parametrize(
        ("decision", "lines"), [("happened", ["one"]), ("again", ["one", "one"]), ("give_up", ["one"])]
    )
    def test_anything_else_is_a_question_whose_answers_are_honoured(
        self, opener: Opener, tmp_path: Path, decision: str, lines: list[str]
    ) -> None:
        async def acts(stage: Stage) -> None:
            stage.gate = Tiers({"ledger.append": "auto"})
            stage.ledger.lose_answers = 1
            assert (await stage.begin()).status == "waiting"
            asked = await stage.pending()
            assert (asked.kind, asked.reasoning) == ("uncertain", "the connection was closed")
            await stage.decide(decision)
            assert (await stage.go_on()).outcome == "completed"
            assert stage.ledger.lines == lines

        play(opener, tmp_path, acts)

    def test_lost_again_after_again_asks_again(self, opener: Opener, tmp_path: Path) -> None:
        async def acts(stage: Stage) -> None:
            stage.gate = Tiers({"ledger.append": "auto"})
            stage.ledger.lose_answers = 2
            await stage.begin()
            await stage.decide("again")
            assert (await stage.go_on()).status == "waiting"
            assert (await stage.pending()).send == 2
            await stage.decide("happened")
            assert (await stage.go_on()).outcome == "completed"
            assert stage.ledger.lines == ["one", "one"]

        play(opener, tmp_path, acts)

    def test_an_error_is_no_proof_that_nothing_happened(self, opener: Opener, tmp_path: Path) -> None:
        twice = ONE.replace(
            "  - text: Done.",
            "  - calls: [{operation: ledger.append, arguments: {line: one}}]\n  - text: Done.",
        )

        async def acts(stage: Stage) -> None:
            stage.gate = Tiers({"ledger.append": "auto"})
            stage.ledger.fail = True
            run = await stage.begin()
            assert (run.status, stage.ledger.lines) == ("waiting", ["one"])
            assert "may have happened" in str((await stage.calls())[0].result)
            assert "may have happened" in (await stage.pending()).reasoning

        play(opener, tmp_path, acts, twice)


class TestGrants:
    """Standing permissions relax confirm, and only confirm."""

    def test_a_grant_for_the_run_spares_the_second_question(self, opener: Opener, tmp_path: Path) -> None:
        twice = ONE.replace(
            "  - text: Done.",
            "  - calls: [{operation: ledger.append, arguments: {line: two}}]\n  - text: Done.",
        )

        async def acts(stage: Stage) -> None:
            await stage.begin()
            target = target_of("", stage.ledger.spec)
            await stage.database.write(
                lambda tx: give_grant(tx, "test", "ledger.append", target, by="ann", run_id=stage.run_id)
            )
            assert (await stage.go_on()).status == "waiting", "a grant never decides what was asked already"
            await stage.decide("approve")
            assert (await stage.go_on()).outcome == "completed"
            assert stage.ledger.lines == ["one", "two"]
            [grant] = await stage.database.read(all_grants)
            assert grant.uses == 1

        play(opener, tmp_path, acts, twice)

    @pytest.mark.parametrize("end", ["expired", "revoked", "manual"])
    def test_a_grant_that_does_not_count(self, opener: Opener, tmp_path: Path, end: str) -> None:
        async def acts(stage: Stage) -> None:
            grant = await stage.database.write(
                lambda tx: give_grant(
                    tx, "test", "ledger.append", target_of("", stage.ledger.spec), by="ann", lasts_ms=1000
                )
            )
            if end == "expired":
                stage.clock.move(seconds=2)
            elif end == "revoked":
                await stage.database.write(lambda tx: revoke_grant(tx, grant))
            else:
                stage.gate = Tiers({"ledger.append": "manual"})
            await stage.begin()
            assert stage.ledger.lines == []

        play(opener, tmp_path, acts)
