"""Pausing: what comes meanwhile is held without a place, and gets one, in order, when it goes on."""

from __future__ import annotations

import asyncio

from colleague.store.event_report import event_document, events_page
from colleague.triggers.pausing import end_removed
from colleague.triggers.trigger_list import trigger_documents
from tests.integration.experts.package import CLERK
from tests.integration.triggers.desk import Desk, by_key, inputs, webhook


def test_events_of_a_paused_trigger_are_held_and_others_on_the_lane_go_on(desk: Desk) -> None:
    async def acts() -> None:
        desk.employ(by_key("who"), by_key("who", "call"))
        async with desk.open() as office:
            assert await office.pause()
            assert not await office.pause(), "it was paused already"
            held = await office.fire({"id": "held", "who": "ada"})
            assert held.run_id is None
            await office.fire({"id": "call", "who": "ada"}, "call")
            assert inputs(await office.work()) == ["call"]
            document = await office.database.read(lambda tx: event_document(tx, held.event_id))
            assert (document["accepted"]["held"], document["run"], document["outcome"]) == (True, None, None)
            [listed] = [
                each
                for each in await office.database.read(
                    lambda tx: trigger_documents(tx, office.registry, lambda _: [])
                )
                if each["trigger"] == "order"
            ]
            assert (listed["state"], listed["held"], listed["queued"]) == ("paused", 1, 0)

    asyncio.run(acts())


def test_resume_keeps_the_order_and_what_comes_later_is_later(desk: Desk) -> None:
    async def acts() -> None:
        desk.employ(by_key("who", dedupe_key="id"))
        async with desk.open() as office:
            await office.fire({"id": 0, "who": "ada"})
            await office.pause()
            first = await office.fire({"id": 1, "who": "ada"})
            for number in range(2, 8):
                await office.fire({"id": number, "who": "ada"})
            again = await office.fire({"id": 1, "who": "ada"})
            assert (again.event_id, again.duplicate) == (first.event_id, True)
            assert await office.resume() == 7
            assert await office.resume() is None
            await office.fire({"id": 8, "who": "ada"})
            assert inputs(await office.work()) == list(range(9))
            again = await office.fire({"id": 1, "who": "ada"})
            assert again.duplicate
            assert again.run_id is not None

    asyncio.run(acts())


def test_what_is_held_needs_no_room_in_the_queue(desk: Desk) -> None:
    async def acts() -> None:
        desk.employ(webhook(concurrency="serial"), order={"max_queued": 1})
        async with desk.open() as office:
            await office.pause()
            for number in range(5):
                await office.fire({"id": number})
            assert await office.resume() == 5
            assert inputs(await office.work()) == list(range(5))

    asyncio.run(acts())


def test_a_pause_outlives_a_restart_and_an_update(desk: Desk) -> None:
    async def acts() -> None:
        desk.employ(webhook(concurrency="serial"))
        async with desk.open() as office:
            await office.pause()
            await office.fire({"id": "before"})
        desk.employ(by_key("who"))
        async with desk.open() as office:
            assert (await office.fire({"id": "after", "who": "ada"})).run_id is None
            assert await office.resume() == 2
            done = await office.work()
            assert inputs(done) == ["before", "after"]
            assert done[1].lane == "clerk/who/ada", "it runs as the package is now"

    asyncio.run(acts())


def test_events_of_a_removed_trigger_end_skipped_and_say_why(desk: Desk) -> None:
    async def acts() -> None:
        desk.employ(webhook(), webhook("other"))
        async with desk.open() as office:
            await office.pause()
            await office.pause("other")
            gone = await office.fire({"id": 1})
            kept = await office.fire({"id": 2}, "other")
            assert await office.database.write(lambda tx: end_removed(tx, office.registry)) == []
            desk.employ(webhook("other"))
            ended = await office.database.write(lambda tx: end_removed(tx, office.registry))
            assert ended == [(CLERK, "order")]
            assert await office.database.write(lambda tx: end_removed(tx, office.registry)) == []
            document = await office.database.read(lambda tx: event_document(tx, gone.event_id))
            assert (document["outcome"], document["reason"]) == ("skipped", "the trigger was removed")
            page = await office.database.read(lambda tx: events_page(tx, limit=50))
            states = {each["id"]: each["state"] for each in page.items}
            assert states == {gone.event_id: "skipped", kept.event_id: "held"}

    asyncio.run(acts())


def test_nothing_ends_while_an_expert_cannot_be_read(desk: Desk) -> None:
    async def acts() -> None:
        folder = desk.employ(webhook())
        async with desk.open() as office:
            await office.pause()
            await office.fire({"id": 1})
        (folder / "expert.yaml").write_text("spec: [")
        async with desk.open() as office:
            assert await office.database.write(lambda tx: end_removed(tx, office.registry)) == []
            assert [event.held for event in await office.events()] == [True]

    asyncio.run(acts())


def test_no_event_stays_held_behind_a_resume_that_it_met(desk: Desk) -> None:
    """Events, pauses and resumes all at once: in the end everything has its run."""

    async def acts() -> None:
        desk.employ(webhook(concurrency="parallel"))
        async with desk.open() as one, desk.open() as other:
            second = other if one.database.shared else one
            for _ in range(8):
                await one.pause()
                fired = [office.fire({}) for office in (one, second) for _ in range(6)]
                await asyncio.gather(*fired[:6], second.resume(), *fired[6:])
            await one.resume()
            assert [event.id for event in await one.events() if event.held] == []
            assert len(await one.work()) == 96

    asyncio.run(acts())
