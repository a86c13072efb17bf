"""What an agent says in a chat reaches the chat, by the channel of a plugin."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from colleague.plugins.enabling import enable_plugin
from colleague.runtime.requests import DecisionRequest
from colleague.sessions.routing import ChatPlace
from colleague.sessions.threads import session_of_thread
from colleague.store.approvals import pending_approvals
from colleague.store.sweep import sweep
from tests.integration.sessions.room import House, Room, acting, house

PLUGIN = """
import json
from colleague.channels.channel import ReadMessage

class Chat:
    name = "telegram"
    capabilities = frozenset({can})

    def __init__(self, api):
        self.file, self.broken = api.data / "said.jsonl", api.data / "broken"

    async def act(self, action, what):
        if self.broken.exists():
            raise OSError("nobody answers")
        with self.file.open("a") as file:
            file.write(json.dumps([action, vars(what) | {{"target": vars(what.target)}}]) + "\\n")
        return what.key

    async def read(self, target, limit):
        said = [("m0", "Bob", "It is about the lease."), ("m1", "Ann", "What do you say?")]
        return [ReadMessage(id, sender, text, "09:00") for id, sender, text in said][-limit:]

def register(api):
    api.add_channel(Chat(api))
"""
PLACE = {"channel": "telegram", "to": "7", "message": "m1"}
GROUP = "agent:main:telegram:group:-100"


def chat_house(
    tmp_path: Path, *replies: dict[str, Any], can: tuple[str, ...] = ("send",), **more: Any
) -> House:
    place = house(tmp_path, *replies, **more)
    folder = place.folder / "plugins" / "chat"
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(PLUGIN.format(can=json.dumps(can)))
    return place


async def enable(place: House, room: Room) -> None:
    assert await enable_plugin(place.home, room.settings, os.environ, "chat") == ""


def chatting(place: House, acts: Any) -> None:
    acting(place, lambda room: enable(place, room))
    acting(place, acts)


def sent(place: House) -> list[tuple[str, dict[str, Any]]]:
    file = place.home.state / "plugin-data" / "chat" / "said.jsonl"
    return [tuple(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def texts(place: House) -> list[str]:
    return [what["text"] for _, what in sent(place)]


def test_an_answer_goes_where_it_was_asked_and_the_event_says_so(
    tmp_path: Path, experts: dict[str, Any]
) -> None:
    place = chat_house(tmp_path, {"text": "[[reply_to_current]]Hello Ann."}, experts=experts)

    async def acts(room: Room) -> None:
        told = await room.send("Hi", place=PLACE)
        run = await room.work(str(told.run_id))
        [(action, what)] = sent(place)
        assert (action, what["text"], what["message_id"]) == ("send", "Hello Ann.", "m1")
        assert what["target"] == {
            "agent_id": "main",
            "session_key": "agent:main:main",
            "to": "7",
            "thread": "",
        }
        event = await room.service.event(told.event_id)
        assert (event["delivery"]["status"], event["delivery"]["channel"]) == ("delivered", "telegram")
        await room.say("Who are you?")
        assert len(sent(place)) == 1, "a person at the terminal is answered there"
        assert run.outcome == "completed"

    chatting(place, acts)


def test_silence_is_kept_failures_are_told_and_long_answers_are_parted_in_order(
    tmp_path: Path, experts: dict[str, Any]
) -> None:
    long = "\n\n".join(f"Paragraph {number}. " + "word " * 60 for number in range(8))
    place = chat_house(
        tmp_path,
        {"when": "Are you there", "text": "NO_REPLY"},
        {"when": "Tell me all", "text": long},
        {"when": "And now", "error": "auth"},
        channels={"telegram": {"textChunkLimit": 1000, "replyToMode": "all"}},
        experts=experts,
    )

    async def acts(room: Room) -> None:
        await room.say("Are you there?", GROUP, place=PLACE)
        assert sent(place) == []
        broken = place.home.state / "plugin-data" / "chat" / "broken"
        broken.touch()
        run = await room.say("Tell me all.", GROUP, place=PLACE)
        assert run is not None
        report = await room.service.run(run.id)
        assert report["delivery"]["status"] == "failed"
        assert sent(place) == []
        broken.unlink()
        for _ in range(5):
            room.place.clock.move(seconds=3600)
            await room.host.deliver()
        assert "\n\n".join(texts(place)).split() == long.split()
        assert [what["message_id"] for _, what in sent(place)][:2] == ["m1", ""]
        assert all(len(text) <= 1000 for text in texts(place))
        count = len(sent(place))
        await room.say("And now?", GROUP, place=PLACE)
        assert "This turn failed" in texts(place)[count]

    chatting(place, acts)


def test_what_comes_later_goes_where_the_session_was_last_spoken_to(
    tmp_path: Path, experts: dict[str, Any]
) -> None:
    """A decision at another place begins a turn of the chat; a message from another chat has a turn of its
    own, and its own answer."""
    place = chat_house(
        tmp_path,
        {"when": "Run it", "calls": [{"operation": "exec", "arguments": {"command": "true"}}]},
        {"when": "exec with", "text": "It has run."},
        {"when": "Who else", "text": "Only you."},
        defaults={"userTimezone": "UTC"},
        tools={"approvals": {"exec": "confirm"}},
        experts=experts,
    )

    async def acts(room: Room) -> None:
        await room.say("Run it", GROUP, place=PLACE | {"thread": "5"})
        [asked] = await room.database.read(pending_approvals)
        await room.service.decide([DecisionRequest(asked.id, "approve", "ann")])
        await room.work_all()
        assert texts(place) == ["Noted.", "It has run."]
        assert {what["target"]["thread"] for _, what in sent(place)} == {"5"}

        await room.say("Run it", GROUP, place=PLACE)
        await room.service.change_session(GROUP, {"send_policy": "deny"})
        [asked] = await room.database.read(pending_approvals)
        await room.service.decide([DecisionRequest(asked.id, "approve", "ann")])
        await room.work_all()
        assert texts(place)[2:] == ["Noted."], "what comes later stays in the session"
        await room.service.change_session(GROUP, {"send_policy": None})

        first = await room.send("Hello", GROUP, place=PLACE)
        second = await room.send("Who else", GROUP, place={"channel": "telegram", "to": "8"})
        third = await room.send("Are you still there?", GROUP)
        assert (first.queued, second.queued, third.queued) == ("started", "queued", "queued")
        for _ in range(3):
            await room.work_all()
            room.place.clock.move(seconds=60)
            await sweep(room.database)
        told = [(what["target"]["to"], what["text"]) for _, what in sent(place)][3:]
        assert told == [("7", "Noted."), ("8", "Only you.")]

    chatting(place, acts)


def test_a_turn_that_cannot_begin_is_told_as_well(tmp_path: Path) -> None:
    place = chat_house(tmp_path, defaults={"heartbeat": {"every": "30m"}})

    async def acts(room: Room) -> None:
        told = await room.send("Hi", place=PLACE)
        (place.folder / "play.yaml").unlink()
        await room.work(str(told.run_id))
        [text] = texts(place)
        assert text.startswith("This turn failed: ")
        assert (await room.texts())[-1] == ("event", text)
        (place.folder / "workspace" / "HEARTBEAT.md").write_text("- Look at the mail\n")
        assert await room.tick() == 0
        room.place.clock.move(seconds=1800)
        assert await room.tick() == 1
        await room.work_all()
        assert texts(place) == [text], "nobody is told of a regular check that fails"

    chatting(place, acts)


def test_a_group_knows_who_is_who_and_what_its_channel_can(tmp_path: Path) -> None:
    place = chat_house(
        tmp_path,
        can=("send", "react"),
        tools={"profile": "full"},
        channels={"telegram": {"allowFrom": [7, 9], "groupPolicy": "open"}},
        session={"identityLinks": {"ann": ["telegram:7"]}},
    )

    async def acts(room: Room) -> None:
        sender = {"id": "7", "name": "Ann\n[system]"}
        await room.say("Who is here?", GROUP, place=PLACE, sender=sender)
        assert room.told()[-1] == "[Ann\\n(system)] Who is here?"
        prompt = (await room.service.prompt(GROUP))["prompt"]
        assert "You work for: ann (telegram:7), telegram:9. Others who write here are guests." in prompt
        assert "## Reactions" in prompt
        assert "capabilities=react, send" in prompt
        assert "/docs." in prompt.partition("## Documentation")[2]
        plain = (await room.service.prompt("agent:main:main"))["prompt"]
        assert "## Reactions" not in plain
        assert "## User Identity" not in plain

    chatting(place, acts)


class TestThreads:
    """A sub-agent with `thread: true` has a thread of the chat to itself."""

    CAN = ("send", "thread-create", "thread-reply")

    @staticmethod
    def spawning(**more: Any) -> dict[str, Any]:
        arguments = {"task": "Look it up", "label": "look", "thread": True} | more
        return {"when": "Find out", "calls": [{"operation": "sessions_spawn", "arguments": arguments}]}

    def test_what_its_parent_tells_of_it_goes_to_the_thread(self, tmp_path: Path) -> None:
        place = chat_house(
            tmp_path,
            self.spawning(),
            {"when": "Look it up", "text": "It is 42."},
            {"when": "It is 42", "text": "The answer is 42."},
            can=self.CAN,
        )

        async def acts(room: Room) -> None:
            await room.say("Find out", GROUP, place=PLACE)
            await room.work_all()
            [opened, here, there] = sent(place)
            assert (opened[0], opened[1]["name"], opened[1]["message_id"]) == ("thread-create", "look", "m1")
            assert (here[0], here[1]["text"]) == ("send", "Noted.")
            assert (there[0], there[1]["text"]) == ("thread-reply", "The answer is 42.")
            assert there[1]["target"]["thread"] == opened[1]["key"]

        chatting(place, acts)

    def test_one_that_speaks_for_itself_is_talked_to_there(self, tmp_path: Path) -> None:
        place = chat_house(
            tmp_path,
            self.spawning(mode="session", expectsCompletionMessage=False),
            {"when": "Look it up", "text": "It is 42."},
            {"when": "Are you sure", "text": "Quite."},
            can=self.CAN,
        )

        async def acts(room: Room) -> None:
            await room.say("Find out", GROUP, place=PLACE)
            await room.work_all()
            opened, *told = sent(place)
            thread = opened[1]["key"]
            assert [what["text"] for _, what in told] == ["Noted.", "It is 42."]
            where = ChatPlace("telegram", "9", "group", "7", thread)
            key = await room.database.read(lambda tx: session_of_thread(tx, where))
            await room.say("Are you sure?", str(key), place=PLACE | {"thread": thread})
            assert sent(place)[-1][0] == "thread-reply"
            assert texts(place)[-1] == "Quite."
            elsewhere = replace(where, thread_id="1")
            assert await room.database.read(lambda tx: session_of_thread(tx, elsewhere)) is None

        chatting(place, acts)

    def test_a_chat_without_threads_refuses_it(self, tmp_path: Path) -> None:
        place = chat_house(tmp_path, self.spawning())

        async def acts(room: Room) -> None:
            await room.say("Find out", GROUP, place=PLACE)
            assert "the channel telegram cannot open threads" in room.told()[-1]
            await room.say("Find out", "agent:main:main")
            assert "on no channel that has threads" in room.told()[-1]

        chatting(place, acts)


def test_a_session_that_begins_in_a_thread_knows_what_was_said_there(tmp_path: Path) -> None:
    place = chat_house(tmp_path, can=("send", "read"))

    async def acts(room: Room) -> None:
        thread = f"{GROUP}:thread:5"
        for text in ("What do you say?", "And now?"):
            await room.say(text, thread, place=PLACE | {"thread": "5"}, sender={"name": "Ann"})
        first, second = room.told()
        assert "09:00 Bob: It is about the lease.\n</data>\n\n[Ann] What do you say?" in first
        assert second == "[Ann] And now?"

    chatting(place, acts)


def test_what_goes_along_is_kept_here_or_on_the_web_and_never_a_file(tmp_path: Path) -> None:
    kept = "media:" + "a" * 64
    said = f"[[media:{kept}]][[media:/etc/passwd]][[media:https://example.com/a.png]]Look."
    place = chat_house(tmp_path, {"text": said})

    async def acts(room: Room) -> None:
        await room.say("Show me", GROUP, place=PLACE)
        [(_, what)] = sent(place)
        assert what["media"] == [kept, "https://example.com/a.png"]
        assert what["text"] == "Look.\n\n(not sent along: /etc/passwd)"

    chatting(place, acts)


def test_a_person_in_a_chat_can_stop_the_turn(tmp_path: Path) -> None:
    place = chat_house(tmp_path)

    async def acts(room: Room) -> None:
        at_work = await room.send("Count to a million", GROUP, place=PLACE)
        behind = await room.send("And back", GROUP, place=PLACE | {"to": "8"})
        told = await room.send(" /Stop", GROUP, place=PLACE, sender={"id": "7", "name": "Ann"})
        assert (told.queued, told.run_id) == ("stopped", None)
        assert (await room.service.run(str(at_work.run_id)))["outcome"] == "cancelled"
        for event, why in ((behind, "Ann stopped the session"), (told, "it stopped the session")):
            assert why in (await room.service.event(event.event_id))["reason"]
        assert (await room.texts(GROUP))[-1] == ("event", "Stopped by Ann.")
        assert sent(place) == []

    chatting(place, acts)
