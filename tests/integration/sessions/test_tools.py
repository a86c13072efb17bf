"""What an agent does about its own proposals, and how it writes elsewhere."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from colleague.channels.channel import Outgoing, Target
from colleague.channels.session_channel import SessionChannel
from colleague.runtime.requests import DecisionRequest
from colleague.store.retention import forget_old
from colleague.store.session_entry import SessionEntry, find_session, open_session
from colleague.store.session_retention import archive_child, idle_children
from tests.integration.sessions.room import DAY, HOUR, MAIN, House, Room, acting, house

PROPOSE = {
    "when": "/^propose/",
    "calls": [{"operation": "write", "arguments": {"path": "AGENTS.md", "text": "Be brief.\n"}}],
}


def using(tool: str, when: str, **arguments: Any) -> dict[str, Any]:
    return {"when": f"/^{when}/", "calls": [{"operation": tool, "arguments": arguments}]}


async def result(room: Room, text: str, session: str = MAIN) -> str:
    """What the call of the last turn said."""
    await room.say(text, session)
    [*_, item] = [item for item in await room.items(session) if item["calls"]]
    return str(item["calls"][-1]["result"])


class TestProposals:
    def test_what_waits_is_listed_and_withdrawn_and_a_decision_is_told_so(self, tmp_path: Path) -> None:
        place = house(tmp_path, PROPOSE, using("proposals", "what waits", action="list"))

        async def acts(room: Room) -> None:
            await room.say("propose")
            [asked] = await room.service.pending()
            listed = await result(room, "what waits?")
            assert asked["id"][-8:] in listed
            assert "Be brief." in listed
            drop = using("proposals", "drop it", action="withdraw", id=asked["id"][-8:], reason="not needed")
            place.write([PROPOSE, drop, *[{"text": "Fine."}] * 20])
            assert "Withdrawn: write will not run" in await result(room, "drop it")
            now = await room.service.approval(asked["id"])
            assert (now["status"], now["decided_by"]) == ("withdrawn", "the agent")
            assert now["note"] == "withdrawn by the agent: not needed"
            [answer] = await room.service.decide([DecisionRequest(asked["id"], "approve", "ann")])
            assert answer.refusal is not None
            assert "withdrawn by the agent already" in answer.refusal.message
            await room.work_all()
            assert not (place.folder / "workspace" / "AGENTS.md").exists()

        acting(place, acts)

    @pytest.mark.parametrize("ending", ["ffff-nothing", "", "abc"])
    def test_only_what_waits_in_this_session_can_be_withdrawn(self, tmp_path: Path, ending: str) -> None:
        place = house(tmp_path, PROPOSE, using("proposals", "drop it", action="withdraw", id=ending))

        async def acts(room: Room) -> None:
            await room.say("propose", "agent:main:test:dm:ann")
            assert "nothing that waits in this session" in await result(room, "drop it")
            assert len(await room.service.pending()) == 1

        acting(place, acts)


class TestMessage:
    def test_it_is_there_only_where_the_profile_or_also_allow_says_so(self, tmp_path: Path) -> None:
        place = house(tmp_path, using("message", "tell", action="send", text="Hello."))

        async def acts(room: Room) -> None:
            assert "message may not be used here: tools.profile is not set" in await result(room, "tell")

        acting(place, acts)

    def test_a_message_to_the_main_session_is_news_there_once(self, tmp_path: Path) -> None:
        place = self.house(tmp_path, using("message", "tell", action="send", text="Hello.", channel="main"))

        async def acts(room: Room) -> None:
            ann = "agent:main:test:dm:ann"
            assert "Done on main: send" in await result(room, "tell", ann)
            assert await room.texts() == [("event", "Hello.")]
            channel = SessionChannel(room.database)
            what = Outgoing(Target("main", ann), "the same call", "Again.")
            assert await channel.act("send", what) == await channel.act("send", what)
            assert await room.texts() == [("event", "Hello."), ("event", "Again.")]
            await room.say("what is new?")
            assert '<data source="message:agent:main:test:dm:ann">' in room.told()[-1]

        acting(place, acts)

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (
                {"action": "react", "emoji": "x", "message_id": "1"},
                "'main' cannot react (it can: read, send)",
            ),
            ({"action": "thread-create", "name": "x"}, "cannot thread-create"),
            ({"action": "send", "text": " "}, "text is missing"),
            ({"action": "send", "text": "x", "channel": "slack"}, "'slack' cannot be written to here"),
            ({"action": "send", "text": "x", "to": "agent:other:main"}, "of another agent"),
            ({"action": "send", "text": "x", "to": "nobody at all"}, "no session with the label"),
        ],
    )
    def test_what_a_channel_cannot_do_is_said(
        self, tmp_path: Path, arguments: dict[str, Any], problem: str
    ) -> None:
        place = self.house(tmp_path, using("message", "tell", **arguments))

        async def acts(room: Room) -> None:
            assert problem in await result(room, "tell")

        acting(place, acts)

    def test_reading_is_data_and_a_fresh_thread_is_told_to_read(self, tmp_path: Path) -> None:
        from colleague.channels.channel_list import channels_of
        from colleague.channels.message_tool import THREAD_HINT, MessageTool

        place = self.house(tmp_path, using("message", "look", action="read", channel="web"))

        async def acts(room: Room) -> None:
            await room.say("hello")
            assert '"text": "hello"' in await result(room, "look")
            assert '<data source="channel:web">' in room.told()[-1]
            key = "agent:main:slack:channel:c1:thread:t1"
            entry = await room.database.write(lambda tx: open_session(tx, key, "main"))
            assert THREAD_HINT in MessageTool(channels_of(room.database), entry).spec.description

        acting(place, acts)

    @pytest.mark.parametrize(
        ("session", "arguments", "tier"),
        [
            ("agent:main:chat:dm:ann", {}, "auto"),
            ("agent:main:chat:dm:ann", {"channel": "Chat", "to": "ann"}, "auto"),
            ("agent:main:chat:dm:ann", {"to": "eve"}, "confirm"),
            ("agent:main:chat:dm:ann", {"to": "eve", "action": "read"}, "auto"),
            ("agent:main:chat:dm:ann", {"channel": "main", "to": "agent:main:main"}, "auto"),
            ("agent:main:chat:dm:ann", {"channel": "mail", "to": "ann"}, "confirm"),
            ("agent:main:main", {"channel": "chat", "to": "ann"}, "confirm"),
            ("agent:main:main", {"channel": "nowhere", "to": "ann"}, "auto"),
            ("agent:main:subagent:0198c1f7", {"channel": "chat", "to": "ann"}, "confirm"),
        ],
    )
    def test_whoever_is_outside_of_the_conversation_is_written_to_after_a_yes(
        self, session: str, arguments: dict[str, Any], tier: str
    ) -> None:
        from colleague.channels.message_tool import MessageTool

        database: Any = None
        channels = {name: SessionChannel(database, name) for name in ("main", "web", "chat", "mail")}
        columns: dict[str, Any] = dict.fromkeys(each.name for each in fields(SessionEntry))
        tool = MessageTool(channels, SessionEntry(**columns | {"key": session, "agent_id": "main"}))
        assert tool.verdict({"action": "send", "text": "x"} | arguments).tier == tier

    def house(self, tmp_path: Path, *replies: dict[str, Any]) -> House:
        return house(tmp_path, *replies, tools={"alsoAllow": ["message"]})


def test_what_is_parked_is_not_forgotten(tmp_path: Path) -> None:
    place = house(tmp_path, PROPOSE)

    async def acts(room: Room) -> None:
        await room.say("propose")
        [asked] = await room.service.pending()
        place.clock.move(days=90)
        await room.database.write(lambda tx: forget_old(tx, 30 * DAY))
        [answer] = await room.service.decide([DecisionRequest(asked["id"], "approve", "ann")])
        assert answer.refusal is None
        await room.database.write(lambda tx: forget_old(tx, 30 * DAY))
        await room.work_all()
        assert (place.folder / "workspace" / "AGENTS.md").read_text() == "Be brief.\n"

    acting(place, acts)


def test_an_idle_child_is_archived_unless_it_is_still_needed(tmp_path: Path) -> None:
    place = house(tmp_path, PROPOSE)

    async def acts(room: Room) -> None:
        children = {name: f"agent:main:subagent:{name}" for name in ("done", "asks", "stays")}
        for name, key in children.items():
            known = {"spawned_by": MAIN, "origin": '{"mode": "session"}' if name == "stays" else None}
            await room.database.write(lambda tx, key=key, known=known: open_session(tx, key, "main", **known))
        await room.say("work", children["done"])
        await room.say("propose", children["asks"])
        assert await room.database.read(lambda tx: idle_children(tx, HOUR)) == []
        place.clock.move(seconds=3600 + 1)
        found = await room.database.read(lambda tx: idle_children(tx, HOUR))
        gone = [await room.database.write(lambda tx, key=key: archive_child(tx, key, HOUR)) for key in found]
        assert dict(zip(found, gone, strict=True)) == {children["done"]: True, children["asks"]: False}
        assert await room.database.read(lambda tx: find_session(tx, children["done"])) is None

    acting(place, acts)
