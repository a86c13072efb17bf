"""From a payload to a run: repeats, lanes, limits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from colleague.config.settings import DEDUPE_WINDOW
from colleague.main_names import MAIN_SESSION
from colleague.store.accept import Arrival, QueueFull
from colleague.store.event_report import event_document
from colleague.store.sql import select
from colleague.store.tables import dedupe, events, lanes, runs
from colleague.store.tx import Tx
from colleague.triggers.intake import arrival_of, fire_all
from tests.integration.triggers.desk import Desk, Office, by_key, cron, inputs, webhook

DAY = 86_400


class TestRepeats:
    def test_one_has_the_ids_of_the_first_and_is_counted(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(webhook(dedupe_key="id"))
            async with desk.open() as office:
                first = await office.fire({"id": "m1"})
                again = [await office.fire({"id": "m1", "note": "sent again"}) for _ in range(3)]
                assert {(each.event_id, each.run_id) for each in again} == {(first.event_id, first.run_id)}
                assert not first.duplicate
                assert all(each.duplicate for each in again)
                [event] = await office.events()
                assert event.duplicates == 3
                document = await office.database.read(lambda tx: event_document(tx, first.event_id))
                assert document["accepted"]["duplicates"] == 3
                assert len(await office.work()) == 1

        asyncio.run(acts())

    def test_the_window_is_the_operators_and_begins_anew_after_its_end(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(webhook(dedupe_key="id"), order={"dedupe_window": "2d"})
            async with desk.open() as office:
                first = await office.fire({"id": "m1"})
                desk.clock.move(days=1.9)
                assert (await office.fire({"id": "m1"})).duplicate
                desk.clock.move(days=0.1)
                second = await office.fire({"id": "m1"})
                assert not second.duplicate
                assert second.event_id != first.event_id
                desk.clock.move(days=1.9)
                assert (await office.fire({"id": "m1"})).event_id == second.event_id

        asyncio.run(acts())

    def test_each_trigger_and_expert_has_its_own(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(webhook(dedupe_key="id"), webhook("other", dedupe_key="id"))
            desk.employ(webhook(dedupe_key="id"), name="second")
            async with desk.open() as office:
                found = [
                    await office.fire({"id": "m1"}),
                    await office.fire({"id": "m1"}, "other"),
                    await office.fire({"id": "m1"}, expert="second"),
                ]
                assert not any(each.duplicate for each in found)

        asyncio.run(acts())

    def test_the_senders_id_counts_where_the_payload_has_none(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(webhook(dedupe_key="id"), webhook("plain"))
            async with desk.open() as office:
                await office.fire({"id": "m1"}, sender="delivery:1")
                assert not (await office.fire({"id": "m2"}, sender="delivery:1")).duplicate, "the path wins"
                await office.fire({"note": "x"}, sender="delivery:2")
                assert (await office.fire({"note": "x"}, sender="delivery:2")).duplicate
                await office.fire({}, "plain", sender="delivery:3")
                assert (await office.fire({}, "plain", sender="delivery:3")).duplicate
                assert not (await office.fire({}, "plain")).duplicate
                assert not (await office.fire({}, "plain")).duplicate, "nothing tells them apart"

        asyncio.run(acts())

    @pytest.mark.parametrize("key", ["a\x00b", "a/b", "\u00e4" * 400, " ", "1", 1, 0, 1.5, "delivery:1"])
    def test_any_value_is_its_own_key(self, desk: Desk, key: Any) -> None:
        async def acts() -> None:
            desk.employ(webhook(dedupe_key="id"))
            async with desk.open() as office:
                await office.fire({"id": "another"})
                first = await office.fire({"id": key})
                assert not first.duplicate
                again = await office.fire({"id": key}, sender="delivery:9")
                assert again.duplicate or key == " ", "a blank is no key"

        asyncio.run(acts())


class TestLanes:
    def test_serial_takes_one_after_the_other(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(webhook(concurrency="serial"), webhook("other", concurrency="serial"))
            async with desk.open() as office:
                for number in range(3):
                    await office.fire({"id": f"a{number}"})
                await office.fire({"id": "b0"}, "other")
                begun = [await office.begin() for _ in range(4)]
                assert inputs([run for run in begun if run]) == ["a0", "b0"]
                assert begun[0] is not None
                await office.end(begun[0])
                assert inputs(await office.work()) == ["a1", "a2"]

        asyncio.run(acts())

    def test_a_key_is_shared_by_all_triggers_with_the_same_path(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(by_key("who"), by_key("who", "call"), by_key("contact.who", "third"))
            async with desk.open() as office:
                await office.fire({"id": "1", "who": "ada"})
                await office.fire({"id": "2", "who": "ada"}, "call")
                await office.fire({"id": "3", "who": "bob"}, "call")
                await office.fire({"id": "4", "contact": {"who": "ada"}}, "third")
                begun = [run for run in [await office.begin() for _ in range(4)] if run]
                assert inputs(begun) == ["1", "3", "4"], "the second of ada waits for the first"
                await office.end(begun[0])
                assert inputs(await office.work()) == ["2"]

        asyncio.run(acts())

    def test_parallel_waits_for_nobody(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(webhook(concurrency="parallel"))
            async with desk.open() as office:
                for number in range(5):
                    await office.fire({"id": number})
                assert all([await office.begin() for _ in range(5)])
                assert (await office.begin()) is None

        asyncio.run(acts())

    def test_a_key_that_is_not_there_waits_in_the_triggers_own_lane_and_says_so(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(by_key("who"))
            async with desk.open() as office:
                lost = [await office.fire({"id": n, "who": who}) for n, who in enumerate([None, [], {}, ""])]
                kept = await office.fire({"id": 9, "who": "ada"})
                begun = [run for run in [await office.begin() for _ in range(4)] if run]
                assert inputs(begun) == [0, 9], "those without a key are in one lane"
                documents = [
                    await office.database.read(lambda tx, e=each: event_document(tx, e.event_id))
                    for each in [*lost, kept]
                ]
                warnings = [each["warning"] for each in documents]
                assert all("'who' is no single value" in str(each) for each in warnings[:-1])
                assert warnings[-1] is None

        asyncio.run(acts())

    def test_the_main_session_is_one_lane_for_all(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(webhook(session="main", concurrency="parallel"))
            desk.employ(webhook(session="main"), name="second")
            async with desk.open() as office:
                await office.fire({"id": 1})
                await office.fire({"id": 2}, expert="second")
                first = await office.begin()
                assert first is not None
                assert (first.lane, first.session_key) == (MAIN_SESSION, MAIN_SESSION)
                assert await office.begin() is None
                await office.end(first)
                assert inputs(await office.work()) == [2]

        asyncio.run(acts())

    def test_no_two_keys_share_a_lane_and_none_has_that_of_a_trigger(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(by_key("who"), webhook("who", concurrency="serial"))
            values = ["order", "a/b", "a", "b", "who", "clerk/order", "%2F", "/", "\u2028", "1", 1.0, True]
            async with desk.open() as office:
                for number, value in enumerate(values):
                    await office.fire({"id": number, "who": value})
                await office.fire({"id": "serial"}, "who")
                begun = [run for run in [await office.begin() for _ in range(len(values) + 1)] if run]
                lanes = [run.lane for run in begun]
                assert len(lanes) == len(set(lanes))
                assert {"clerk/order", "clerk/who"} & set(lanes) <= {"clerk/who", "clerk/order"}
                assert "serial" in inputs(begun)

        asyncio.run(acts())


class TestLimits:
    def test_over_the_limit_nothing_is_left_behind(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(by_key("who", dedupe_key="id"), order={"max_queued": 2})
            async with desk.open() as office:
                await office.fire({"id": 1, "who": "ada"})
                await office.fire({"id": 2, "who": "ada"})
                before = await rows(office)
                with pytest.raises(QueueFull) as full:
                    await office.fire({"id": 3, "who": "new"})
                assert "max_queued" in full.value.hint
                assert await rows(office) == before
                assert (await office.fire({"id": 1, "who": "ada"})).duplicate, "a repeat needs no room"
                running = await office.begin()
                accepted = await office.fire({"id": 3, "who": "new"})
                assert not accepted.duplicate
                assert running is not None

        asyncio.run(acts())

    def test_the_limit_is_of_one_trigger(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(webhook(), webhook("other"), order={"max_queued": 1})
            async with desk.open() as office:
                await office.fire({"id": 1})
                for number in range(5):
                    await office.fire({"id": number}, "other")
                with pytest.raises(QueueFull):
                    await office.fire({"id": 2})

        asyncio.run(acts())

    def test_a_schedule_fired_by_hand_keeps_to_its_own_limit(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("0 0 * * *"))
            async with desk.open() as office:
                await office.fire({}, "tick")
                with pytest.raises(QueueFull):
                    await office.fire({}, "tick")

        asyncio.run(acts())


async def rows(office: Office) -> list[Any]:
    def everything(tx: Tx) -> list[Any]:
        return [sorted(map(str, tx.all(select(table)))) for table in (events, runs, lanes, dedupe)]

    return await office.database.read(everything)


class TestAtOnce:
    def test_a_hundred_at_once_are_each_there_once_and_in_order(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(by_key("who", dedupe_key="id"))
            async with desk.open() as office:
                sent = [{"id": number % 80, "who": f"k{number % 7}"} for number in range(100)]
                # The same id always has the same key, as it would from a real sender.
                sent = [each | {"who": f"k{each['id'] % 7}"} for each in sent]
                found = await asyncio.gather(*(office.fire(each) for each in sent))
                assert len({each.run_id for each in found}) == 80
                done = await office.work()
                assert len(done) == 80
                by_lane: dict[str, list[int]] = {}
                for run in done:
                    by_lane.setdefault(str(run.lane), []).append(run.seq)
                assert all(seqs == sorted(seqs) for seqs in by_lane.values())

        asyncio.run(acts())

    def test_batches_that_meet_head_on_are_all_accepted(self, desk: Desk) -> None:
        """Several events in one request, the same ones in another order in the next."""

        async def acts() -> None:
            desk.employ(by_key("who", dedupe_key="id"))
            async with desk.open() as one, desk.open() as other:
                offices = [one, other if one.database.shared else one]
                forth = [arrival(one, {"id": number, "who": f"k{number}"}) for number in range(20)]
                back = [arrival(one, {"id": 100 + number, "who": f"k{number}"}) for number in range(20)][::-1]
                writes = [
                    offices[turn % 2].database.write(lambda tx, each=each: fire_all(tx, each))
                    for turn, each in enumerate([forth, back] * 6)
                ]
                found = await asyncio.gather(*writes)
                assert len({event.event_id for batch in found for event in batch}) == 40
                assert len(await one.work()) == 40

        asyncio.run(acts())


def arrival(office: Office, payload: Any) -> Arrival:
    home, wired = office.desk.home, office.wired()
    return arrival_of(home, wired, payload, source="webhook", dedupe_window=DEDUPE_WINDOW)
