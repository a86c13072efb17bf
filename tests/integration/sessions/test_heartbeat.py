"""Regular checks, answers that are meant for nobody, and the first conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.integration.sessions.room import (
    MAIN,
    House,
    Room,
    acting,
    house,
    run_row,
)


class TestHeartbeat:
    def test_a_check_that_found_nothing_is_not_shown_and_not_told_later(self, tmp_path: Path) -> None:
        place = self.house(tmp_path, {"when": "Regular check", "text": "HEARTBEAT_OK"})

        async def acts(room: Room) -> None:
            await room.tick()
            place.clock.move(seconds=1800)
            assert [await room.tick(), await room.tick()] == [1, 0]
            [run] = await room.work_all()
            assert (run.outcome, run.narrative) == ("completed", "HEARTBEAT_OK")
            assert (await run_row(room.database, run.id)).transcript is None, "later turns are not told of it"
            assert "## HEARTBEAT.md" in room.told()[-1]
            assert await room.texts() == []
            await room.say("hello")
            assert [role for role, _ in await room.texts()] == ["user", "assistant"]
            [listed] = await room.schedules()
            assert (listed["trigger"], listed["process"]) == ("heartbeat", "HEARTBEAT.md")

        acting(place, acts)

    def test_a_check_that_found_something_shows_its_answer_alone(self, tmp_path: Path) -> None:
        place = self.house(
            tmp_path, {"when": "Regular check", "text": "Two approvals have waited for a day."}
        )

        async def acts(room: Room) -> None:
            await room.tick()
            place.clock.move(seconds=1800)
            await room.tick()
            await room.work_all()
            assert await room.texts() == [("assistant", "Two approvals have waited for a day.")]

        acting(place, acts)

    def test_a_session_at_work_an_empty_list_and_a_pause_are_reasons_to_skip(self, tmp_path: Path) -> None:
        place = self.house(tmp_path, {"when": "Regular check", "text": "HEARTBEAT_OK"})

        async def acts(room: Room) -> None:
            await room.tick()
            await room.send("work on this")
            place.clock.move(seconds=1800)
            await room.tick()
            (place.folder / "workspace" / "HEARTBEAT.md").write_text("# Checks\n\n<!-- nothing -->\n")
            await room.work_all()
            place.clock.move(seconds=1800)
            await room.tick()
            assert await room.service.pause("agent:main", "heartbeat", "ann")
            place.clock.move(seconds=1800)
            await room.tick()
            reasons = [reason for _, reason in await room.settled()]
            assert reasons == ["the session was at work", "HEARTBEAT.md lists nothing", "paused"]
            place.clock.move(days=3)
            await room.tick()
            assert len(await room.settled()) == 5, "what was missed is one row"

        acting(place, acts)

    def test_what_a_person_says_during_a_check_is_a_turn_of_its_own(self, tmp_path: Path) -> None:
        place = self.house(tmp_path, {"when": "Regular check", "text": "HEARTBEAT_OK"})

        async def acts(room: Room) -> None:
            await room.tick()
            place.clock.move(seconds=1800)
            await room.tick()
            sent = await room.send("hello")
            assert (sent.queued, sent.run_id) == ("queued", None)
            place.clock.move(seconds=2)
            await room.work_all()
            await room.work_all()
            assert [role for role, _ in await room.texts()] == ["user", "assistant"]

        acting(place, acts)

    def house(self, tmp_path: Path, *replies: dict[str, Any]) -> House:
        place = house(tmp_path, *replies, defaults={"heartbeat": {"every": "30m"}})
        (place.folder / "workspace" / "HEARTBEAT.md").write_text("# Checks\n\n- approvals that wait\n")
        return place


def test_an_answer_for_nobody_is_not_shown(tmp_path: Path) -> None:
    place = house(tmp_path, {"when": "/^psst/", "text": "NO_REPLY"})

    async def acts(room: Room) -> None:
        run = await room.say("psst")
        assert run is not None
        assert run.outcome == "completed"
        assert await room.texts() == [("user", "psst")]
        await room.say("hello")
        assert len(await room.texts()) == 3

    acting(place, acts)


def test_the_first_conversation_is_read_once_by_a_turn_with_a_person(tmp_path: Path) -> None:
    place = house(tmp_path)
    first = place.folder / "workspace" / "BOOTSTRAP.md"
    first.write_text("Ask for their name.\n")

    async def acts(room: Room) -> None:
        from colleague.triggers.reminders import Plan, plan, require_reminder, run_now

        wanted = Plan("main", MAIN, "Look.", "every", "1h", "UTC", "look")
        await room.database.write(lambda tx: plan(tx, wanted, "call"))
        await room.database.write(lambda tx: run_now(tx, room.settings, require_reminder(tx, "main", "look")))
        await room.work_all()
        assert first.exists(), "a reminder does not use it up"
        await room.say("hello")
        assert not first.exists()
        assert (place.folder / "workspace" / "BOOTSTRAP.done.md").read_text() == "Ask for their name.\n"

    acting(place, acts)
