"""What was said long ago is forgotten; what is in use is not."""

from __future__ import annotations

from pathlib import Path

from colleague.store.retention import forget_old
from tests.integration.sessions.room import (
    DAY,
    MAIN,
    Room,
    acting,
    house,
)


class TestRetention:
    def test_a_conversation_in_use_is_kept_and_an_idle_one_goes(self, tmp_path: Path) -> None:
        place = house(tmp_path)

        async def acts(room: Room) -> None:
            other = "agent:main:test:dm:ann"
            await room.say("first")
            await room.say("first", other)
            place.clock.move(days=40)
            await room.say("second")
            await forget(room)
            assert len(await room.texts()) == 4, "in use: nothing of it is forgotten"
            assert await room.texts(other) == []
            assert (await room.service.session(other))["positions"] == 2, "the session itself stays"
            assert await room.say("again", other) is not None

        acting(place, acts)

    def test_an_archive_goes_when_it_ended_long_ago(self, tmp_path: Path) -> None:
        place = house(tmp_path)

        async def acts(room: Room) -> None:
            await room.say("first")
            await room.service.reset_session(MAIN, "ann")
            [archive] = await room.service.archives(MAIN)
            place.clock.move(days=20)
            await room.say("second")
            await forget(room)
            assert len(await room.texts(archive=archive["id"])) == 2
            place.clock.move(days=20)
            await room.say("third")
            await forget(room)
            assert await room.service.archives(MAIN) == []
            assert len(await room.texts()) == 4

        acting(place, acts)


async def forget(room: Room) -> None:
    while await room.database.write(lambda tx: forget_old(tx, 30 * DAY)):
        pass
