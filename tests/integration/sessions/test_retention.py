"""What was said long ago is forgotten; what is in use is not."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path

from colleague.agent.pictures.media import keep_picture
from colleague.experts.workspace.snapshots import digests_in_use
from colleague.runtime.cleanup import remove_unused_media
from colleague.store.retention import forget_old
from colleague.store.tables import calls, inbox
from colleague.store.tx import Tx
from tests.integration.sessions.room import (
    DAY,
    MAIN,
    Room,
    acting,
    house,
)
from tests.unit.pictures.samples import png


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


def test_what_a_waiting_message_and_a_tool_name_is_kept(tmp_path: Path) -> None:
    place = house(tmp_path)
    kept = keep_picture(place.home, png(width=4, height=3), "image/png")
    os.utime(place.folder / "state" / "media" / kept.sha256, (0, 0))

    def put(tx: Tx) -> None:
        waits = {"arrival": {"digest": "of-a-message"}}
        row = {"event_id": "e", "session_key": MAIN, "mode": "queue", "due_at": 0}
        tx.insert(inbox, **row, arrival=json.dumps(waits))
        call = {"id": "c", "run_id": "r", "session": "main", "position": 1, "place": 0, "tool_call_id": "t"}
        made = {"operation": "browser", "tier": "auto", "arguments": "{}", "status": "finished"}
        tx.insert(calls, **call, **made, result=f"Kept as {kept.url}.")

    async def acts(room: Room) -> None:
        await room.database.write(put)
        assert "of-a-message" in await room.database.read(digests_in_use)
        assert await remove_unused_media(place.home, room.database, place.clock) == 0

    acting(place, acts)


def test_a_picture_goes_when_no_message_names_it(tmp_path: Path) -> None:
    place = house(tmp_path)
    kept = {name: png(width=4, height=height) for name, height in (("old", 3), ("used", 5), ("fresh", 7))}
    media = {name: place.folder / "state" / "media" / hashlib.sha256(kept[name]).hexdigest() for name in kept}

    def attached(name: str) -> dict[str, str]:
        return {"name": f"{name}.png", "data": base64.b64encode(kept[name]).decode()}

    async def acts(room: Room) -> None:
        other = "agent:main:test:dm:ann"
        await room.say("look", other, attachments=(attached("old"),))
        await room.say("look", attachments=(attached("used"),))
        keep_picture(place.home, kept["fresh"], "image/png")
        for name in ("old", "used"):
            os.utime(media[name], (0, 0))
        assert await remove_unused_media(place.home, room.database, place.clock) == 0
        place.clock.move(days=40)
        now = place.clock.now() / 1000
        os.utime(media["fresh"], (now, now))
        await room.say("again")
        await forget(room)
        assert await remove_unused_media(place.home, room.database, place.clock) == 1
        assert [name for name in media if media[name].exists()] == ["used", "fresh"]

    acting(place, acts)
