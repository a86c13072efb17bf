"""Sessions that begin anew: after silence, each day, or because somebody says so."""

from __future__ import annotations

from pathlib import Path

from tests.integration.sessions.room import (
    HOUR,
    MAIN,
    Room,
    acting,
    house,
)


class TestResets:
    def test_silence_begins_a_session_anew_when_somebody_comes_back(self, tmp_path: Path) -> None:
        place = house(tmp_path, session={"reset": {"mode": "idle", "idleMinutes": 60}})

        async def acts(room: Room) -> None:
            await room.say("first")
            place.clock.move(seconds=59 * 60)
            await room.say("second")
            assert len(await room.texts()) == 4
            place.clock.move(seconds=60 * 60)
            await room.say("third")
            assert [text for role, text in await room.texts() if role == "user"] == ["third"]
            [archive] = await room.service.archives(MAIN)
            assert archive["ended_by"] == "idle"

        acting(place, acts)

    def test_a_day_begins_at_its_hour_in_the_users_zone(self, tmp_path: Path) -> None:
        place = house(tmp_path, session={"reset": {"mode": "daily", "atHour": 4}})

        async def acts(room: Room) -> None:
            place.clock.move(seconds=18 * 3600 + 59 * 60)  # 02:59 UTC is 03:59 in Berlin
            await room.say("late")
            place.clock.move(seconds=2 * 60)
            await room.say("early")
            assert [text for role, text in await room.texts() if role == "user"] == ["early"]
            assert [each["ended_by"] for each in await room.service.archives(MAIN)] == ["schedule"]
            place.clock.move(seconds=20 * 3600)
            await room.say("same day")
            assert len(await room.service.archives(MAIN)) == 1

        acting(place, acts)

    def test_new_and_then_a_text_is_said_in_the_new_session_and_a_repeat_changes_nothing(
        self, tmp_path: Path
    ) -> None:
        place = house(tmp_path)

        async def acts(room: Room) -> None:
            await room.say("first")
            await room.say("/new what now?", dedupe_key="m1")
            again = await room.send("/new what now?", dedupe_key="m1")
            assert again.duplicate
            assert [text for role, text in await room.texts() if role == "user"] == ["what now?"]
            bare = [await room.send("/RESET", dedupe_key="m2") for _ in range(2)]
            assert bare[0].queued == "reset"
            assert bare[0].event_id == bare[1].event_id
            assert await room.texts() == []
            assert len(await room.service.archives(MAIN)) == 2
            await room.say("/news is no trigger")
            assert len(await room.texts()) == 2

        acting(place, acts)

    def test_the_rule_of_a_kind_of_chat_wins(self, tmp_path: Path) -> None:
        session = {"reset": {"mode": "none"}, "resetByType": {"group": {"mode": "idle", "idleMinutes": 5}}}
        place = house(tmp_path, session=session)

        async def acts(room: Room) -> None:
            group = "agent:main:test:group:g1"
            for key in (MAIN, group):
                await room.say("first", key)
            place.clock.move(seconds=HOUR // 1000)
            for key in (MAIN, group):
                await room.say("second", key)
            assert (len(await room.texts()), len(await room.texts(group))) == (4, 2)

        acting(place, acts)
