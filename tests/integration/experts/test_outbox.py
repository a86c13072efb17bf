"""Accepted, run and delivered are three facts: what was not sent is never called delivered."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from colleague.errors import ColleagueError
from colleague.experts.delivery.sender import OutboxSender
from colleague.store.outbox import (
    NO_READER,
    UNREAD,
    OutboxMessage,
    deliveries_page,
    mark_read,
    put_in_outbox,
    start_sending,
    unread_of,
    waiting_outbox,
)
from colleague.store.overview import count_unread, unsent
from tests.integration.experts.package import Package, ledger_package, process
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, finished, step

DONE = finished()


@dataclass
class Recorder:
    """A channel that keeps what it is given, and can be told to be slow or out of order."""

    kept: list[str] = field(default_factory=list)
    seconds: float = 0.0
    broken: bool = False

    async def send(self, message: OutboxMessage) -> None:
        if self.broken:
            raise ColleagueError("slack is down")
        self.kept.append(message.id)
        await asyncio.sleep(self.seconds)


def to_slack(**delivery: Any) -> Package:
    return Package(files={"processes/work.md": process(delivery={"channel": "slack", **delivery})})


@on_stage
async def test_what_is_for_main_waits_until_somebody_has_read_it(stage: Stage) -> None:
    stage.install(Package())
    await stage.run(DONE)
    delivery = (await stage.report())["delivery"]
    assert (delivery["status"], delivery["at"], delivery["error"]) == ("waiting", None, NO_READER)
    assert delivery["body"]["narrative"] == "All is written."
    await stage.restart()
    await stage.later(days=1)
    [unread] = (await stage.database.read(lambda tx: deliveries_page(tx, unread=True, limit=9))).items
    assert (unread.id, unread.sends) == (delivery["id"], 0)
    assert await stage.database.read(lambda tx: unread_of(tx, stage.run_id)) == [unread.id]
    assert await stage.database.read(unsent) == 0

    assert await stage.database.write(lambda tx: mark_read(tx, [unread.id, "unknown"], "ann")) == 1
    assert await stage.database.write(lambda tx: mark_read(tx, [unread.id], "bob")) == 0

    delivery = (await stage.report())["delivery"]
    assert (delivery["status"], delivery["read_by"], delivery["error"]) == ("delivered", "ann", None)
    assert delivery["at"] == "2026-01-02T00:00:00+00:00"
    assert await stage.database.read(count_unread) == 0
    await stage.restart()
    await stage.later(days=1)
    assert (await stage.report())["delivery"] == delivery


@on_stage
async def test_two_who_read_at_once_are_one_reader(stage: Stage) -> None:
    stage.install(Package())
    await stage.run(DONE)
    ids = await stage.database.read(lambda tx: unread_of(tx, stage.run_id))
    other = stage.open_database(stage.clock) if stage.database.shared else stage.database
    counts = await asyncio.gather(
        *(each.write(lambda tx: mark_read(tx, ids, "x")) for each in (stage.database, other) * 5)
    )
    assert sum(counts) == 1
    if other is not stage.database:
        await other.close()


@on_stage
async def test_an_escalation_to_main_waits_and_a_decided_question_was_read(stage: Stage) -> None:
    stage.install(ledger_package(tiers={"append": "confirm"}))
    await stage.run(call("ledger.append", line="one"), step(1, "failed", "no"))
    [question] = await stage.messages("approval")
    assert question.status == UNREAD
    assert await stage.database.read(count_unread) == 0, "questions are in the list of approvals"
    await stage.decided("approve")
    [question] = await stage.messages("approval")
    assert (question.status, bool(question.read_by)) == ("sent", True)
    [escalation] = await stage.messages("escalation")
    assert (escalation.status, escalation.error) == (UNREAD, NO_READER)
    assert await stage.database.read(count_unread) == 1


@on_stage
async def test_reading_takes_nothing_from_a_channel(stage: Stage) -> None:
    stage.install(to_slack())
    await stage.run(DONE)
    [message] = await stage.messages("delivery")
    assert await stage.database.write(lambda tx: mark_read(tx, [message.id], "ann")) == 0
    assert (await stage.report())["delivery"]["status"] == "failed"


@on_stage
async def test_a_channel_that_is_not_connected(stage: Stage) -> None:
    stage.install(to_slack())
    run = await stage.run(DONE)

    assert run.outcome == "completed"
    delivery = (await stage.report())["delivery"]
    assert (delivery["status"], delivery["channel"], delivery["at"]) == ("failed", "slack", None)
    assert delivery["error"] == "the channel 'slack' is not connected here"
    assert delivery["body"]["narrative"] == "All is written."
    assert await stage.database.read(unsent) == 1


@on_stage
async def test_it_is_tried_again_after_longer_and_longer_pauses(stage: Stage) -> None:
    recorder = Recorder(broken=True)
    stage.connected["slack"] = recorder
    await stage.restart()
    stage.install(to_slack())
    await stage.run(DONE)
    tried = []
    for _ in range(40):
        [message] = await stage.messages("delivery")
        tried.append(message.sends)
        await stage.later(seconds=5)
    assert tried == sorted(tried)
    assert 4 <= tried[-1] <= 6

    recorder.broken = False
    await stage.restart()
    await stage.later(days=1)

    assert len(recorder.kept) == 1
    delivery = (await stage.report())["delivery"]
    assert (delivery["status"], delivery["error"]) == ("delivered", None)
    assert delivery["at"] is not None
    assert await stage.database.read(unsent) == 0


@on_stage
async def test_once_connected_it_is_delivered(stage: Stage) -> None:
    stage.install(to_slack())
    await stage.run(DONE)
    recorder = Recorder()
    stage.connected["slack"] = recorder
    await stage.restart()
    await stage.later(seconds=60)
    assert len(recorder.kept) == 1
    assert (await stage.report())["delivery"]["status"] == "delivered"


@on_stage
async def test_each_message_is_sent_once_over_restarts(stage: Stage) -> None:
    recorder = Recorder()
    stage.connected["main"] = recorder
    await stage.restart()
    stage.install(Package())
    for _ in range(5):
        await stage.run(DONE)
        await stage.restart()
        await stage.later(seconds=3600)
    assert len(recorder.kept) == len(set(recorder.kept)) == 5


@on_stage
async def test_what_a_dead_process_was_sending_is_sent(stage: Stage) -> None:
    """At once where holding the home proves it dead; elsewhere when it must have given up."""
    recorder, alone = Recorder(), not stage.database.shared
    stage.connected["main"] = recorder
    stage.install(Package())
    await stage.run(DONE)
    await stage.database.write(lambda tx: put_in_outbox(tx, stage.run_id, "note", "1", "main", "{}"))
    [message] = await stage.database.read(waiting_outbox)
    assert await stage.database.write(lambda tx: start_sending(tx, message))

    await stage.restart()
    await stage.later(seconds=0 if alone else 121)

    assert recorder.kept == [message.id]
    assert await stage.database.read(unsent) == 0


@on_stage
async def test_two_senders_do_not_send_the_same_message(stage: Stage) -> None:
    """The second comes while the first is still at the door."""
    stage.install(Package())
    await stage.run(DONE)
    for number in range(4):
        await stage.database.write(
            lambda tx, number=number: put_in_outbox(tx, stage.run_id, "note", str(number), "slow", "{}")  # type: ignore[misc]
        )
    recorder = Recorder(seconds=0.3)
    others = [stage.open_database(stage.clock) for _ in range(2)] if stage.database.shared else []
    databases = [stage.database, *(others or [stage.database] * 2)]
    for each in databases:
        assert await each.read(unsent) == 4

    async def carry(number: int) -> int:
        await asyncio.sleep(number * 0.1)
        return await OutboxSender(databases[number], {"slow": recorder}).deliver_all()

    counts = await asyncio.gather(*(carry(number) for number in range(3)))

    assert sum(counts) == 4
    assert len(recorder.kept) == len(set(recorder.kept)) == 4
    for each in others:
        await each.close()


@on_stage
async def test_one_bad_channel_holds_up_nobody_else(stage: Stage) -> None:
    stage.install(to_slack())
    await stage.run(DONE)
    stage.install(Package(name="other"))
    stage.play(DONE)
    await stage.ask(expert="other")
    await stage.go_on()
    assert (await stage.report())["delivery"]["error"] == NO_READER
    assert await stage.database.read(unsent) == 1


@pytest.mark.parametrize("breach", ["warn", "escalate"])
@on_stage
async def test_a_slow_run_is_reported_and_goes_on(stage: Stage, breach: str) -> None:
    delivery = {"sla": "1h", "sla_breach": breach}
    stage.install(ledger_package(tiers={"append": "confirm"}, work={"delivery": delivery}))
    await stage.run(call("ledger.append", line="one"), DONE)
    run = await stage.later(seconds=3599)
    assert (run.status, await stage.messages("sla")) == ("waiting", [])
    assert (await stage.report())["sla"] == {"limit": "3600s", "breached": False, "at": None}

    await stage.restart()
    run = await stage.later(seconds=1)

    assert run.status == "waiting"
    told = await stage.notice("sla")
    assert (told["expert"], told["process"], told["flag"]) == ("clerk", "work", breach == "escalate")
    assert told["reason"] == "no result after 3600 seconds, which is the limit"
    late = {"limit": "3600s", "breached": True, "at": "2026-01-01T01:00:00+00:00"}
    assert (await stage.report())["sla"] == late
    await stage.restart()
    await stage.later(days=1)
    run = await stage.decided("approve")
    assert run.outcome == "completed", run.error
    assert len(await stage.messages("sla")) == 1
    assert (await stage.report())["sla"] == late
    assert (await stage.report())["delivery"]["error"] == NO_READER


@on_stage
async def test_a_result_in_time_is_not_reported_later(stage: Stage) -> None:
    stage.install(Package(files={"processes/work.md": process(delivery={"sla": "1h"})}))
    await stage.run(DONE)
    await stage.later(days=1)
    assert await stage.messages("sla") == []
    assert not (await stage.report())["sla"]["breached"]


@on_stage
async def test_a_run_that_ends_late_is_late_whether_or_not_anyone_looked(stage: Stage) -> None:
    stage.install(ledger_package(work={"delivery": {"sla": "1h"}}))
    stage.play(call("ledger.append", line="one ~0.3"), DONE)
    await stage.ask()
    async with stage.working():
        await stage.until_written("one ~0.3")
        stage.clock.move(seconds=3601)
        while (await stage.current()).status != "done":
            await asyncio.sleep(0.01)
    assert (await stage.report())["sla"]["breached"]
    assert len(await stage.messages("sla")) == 1


@on_stage
async def test_the_limit_counts_from_the_event_over_all_attempts(stage: Stage) -> None:
    execution = {"retry": {"max_attempts": 2, "delay": "40m"}}
    head = {"execution": execution, "delivery": {"sla": "1h"}}
    stage.install(Package(files={"processes/work.md": process(**head)}))
    stage.clock.move(seconds=1)
    await stage.run(step(1, "failed"), step(1, "failed"))
    run = await stage.later(seconds=2400)
    assert (run.outcome, await stage.messages("sla")) == ("failed", [])

    await stage.ask()
    stage.clock.move(seconds=3000)
    stage.play(step(1, "failed"), DONE)
    assert (await stage.go_on()).status == "retrying"
    assert await stage.messages("sla") == []
    run = await stage.later(seconds=2400)
    assert run.outcome == "completed"
    assert len(await stage.messages("sla")) == 1


@on_stage
async def test_hostile_text_is_delivered_as_it_is(stage: Stage) -> None:
    stage.install(Package())
    nasty = 'A "quote", a \\ and \x00\x07, </data>, \U0001f4a5'
    run = await stage.run(step(1, "skipped", nasty), finished(nasty))
    assert run.outcome == "completed", run.error
    assert run.narrative == nasty.replace("\0", "\ufffd")
    [message] = await stage.messages("delivery")
    assert json.loads(message.body)["narrative"] == nasty
    assert message.status == UNREAD


@on_stage
async def test_a_hostile_reason_is_told_as_it_is(stage: Stage) -> None:
    stage.install(Package())
    run = await stage.run(step(1, "failed", 'because of "\x00"'))
    assert (run.outcome, run.error) == ("failed", 'step 1 failed: because of "\ufffd"')
    assert (await stage.notice("escalation"))["reason"] == 'step 1 failed: because of "\x00"'
