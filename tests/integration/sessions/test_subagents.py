"""Sub-agents through the real loop: inside each other, of another agent, and whom they may write to."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.prompt.subagent import ROLE
from colleague.channels.message_tool import EXPLICIT
from colleague.runtime.requests import DecisionRequest
from colleague.store.sql import select
from colleague.store.tables import runs
from tests.integration.sessions.room import MAIN, House, Room, acting, house

DEEP = {"subagents": {"maxSpawnDepth": 2}}


def spawning(when: str, **arguments: Any) -> dict[str, Any]:
    return {"when": when, "calls": [{"operation": "sessions_spawn", "arguments": arguments}]}


def started(answer: str) -> dict[str, Any]:
    return {"when": "Started agent:", "text": answer}


async def runs_of(room: Room) -> list[dict[str, Any]]:
    """In the order in which they were begun."""
    query = select(runs.c.id).order_by(runs.c.id)
    ids = await room.database.read(lambda tx: [row.id for row in tx.all(query)])
    return [dict(await room.service.run(each)) for each in ids]


def requests(place: House, provider: str = "script") -> list[dict[str, Any]]:
    """What was sent to the model, each time."""
    lines = (place.folder / "logs" / f"{provider}-payload.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_sub_agent_of_a_sub_agent_tells_its_parent_and_that_one_tells_main(tmp_path: Path) -> None:
    place = house(
        tmp_path,
        spawning("/^go$/", task="weigh all", label="elder"),
        spawning("/^weigh all/", task="weigh one", label="younger"),
        spawning("/^weigh one/", task="weigh none"),
        {"when": "no tool 'sessions_spawn'", "text": "It weighs three."},
        started("It is under way."),
        {"when": "/whoever started you(.|\n)*It weighs three/", "text": "All weigh three."},
        {"when": "/Tell the person(.|\n)*All weigh three/", "text": "Three, says the elder."},
        defaults=DEEP,
    )

    async def acts(room: Room) -> None:
        await room.say("go")
        await room.work_all()
        turn, elder, younger, *_ = await runs_of(room)
        assert (elder["parent_run"], younger["parent_run"]) == (turn["id"], elder["id"])
        assert "there is no tool 'sessions_spawn'" in younger["calls"][0]["result"]["text"]
        said = [text for role, text in await room.texts() if role == "assistant" and text]
        assert said == ["It is under way.", "Three, says the elder."]

    acting(place, acts)


def test_another_agent_is_spawned_with_its_own_workspace_and_only_when_allowed(tmp_path: Path) -> None:
    place = house(
        tmp_path,
        spawning("/^ask the clerk/", task="who are you", agentId="clerk"),
        spawning("/^ask the spy/", task="who are you", agentId="spy"),
        {"when": "/^who are you/", "calls": [{"operation": "read", "arguments": {"path": "SOUL.md"}}]},
        {"when": "I keep the books", "text": "The clerk."},
        started("I ask."),
        {"when": "The clerk.", "text": "It is the clerk."},
        {"when": "may not spawn", "text": "I may not."},
        defaults={"subagents": {"allowAgents": ["clerk"]}},
    )
    settings = json.loads((place.folder / "colleague.json").read_text())
    settings["agents"]["list"] = [{"id": "main"}, {"id": "clerk"}, {"id": "spy"}]
    (place.folder / "colleague.json").write_text(json.dumps(settings))
    (place.folder / "workspace-clerk").mkdir()
    (place.folder / "workspace-clerk" / "SOUL.md").write_text("I keep the books.\n")

    async def acts(room: Room) -> None:
        await room.say("ask the clerk")
        await room.work_all()
        child = next(each for each in await runs_of(room) if each["kind"] == "subagent")
        assert child["session_key"].startswith("agent:clerk:subagent:")
        assert (await room.texts())[-1] == ("assistant", "It is the clerk.")
        await room.say("ask the spy")
        assert (await room.texts())[-1] == ("assistant", "I may not.")

    acting(place, acts)


@pytest.mark.parametrize(
    ("target", "answer"),
    [({}, "channel and to are missing"), ({"channel": "main", "to": MAIN}, "Done on main: send")],
)
def test_a_sub_agent_names_whom_it_writes_to(tmp_path: Path, target: dict[str, str], answer: str) -> None:
    writes = {"operation": "message", "arguments": {"action": "send", "text": "Hello."} | target}
    place = house(
        tmp_path,
        spawning("/^go$/", task="greet"),
        {"when": "/^greet/", "calls": [writes]},
        started("It is under way."),
        tools={"alsoAllow": ["message"]},
    )
    place.environ["OPENCLAW_ANTHROPIC_PAYLOAD_LOG"] = "1"

    async def acts(room: Room) -> None:
        await room.say("go")
        await room.work_all()
        child = next(each for each in await runs_of(room) if each["kind"] == "subagent")
        assert answer in str(child["calls"][0]["result"])
        assert (("event", "Hello.") in await room.texts()) is bool(target)
        asked = [json.dumps(each, ensure_ascii=False) for each in requests(place)]
        of_child = [text for text in asked if ROLE in text]
        assert len(of_child) == 2
        assert all(EXPLICIT.strip() in text for text in of_child)
        assert not any(EXPLICIT.strip() in text for text in asked if text not in of_child)

    acting(place, acts)


def test_a_question_of_a_sub_agent_is_told_to_who_watches_the_parent(tmp_path: Path) -> None:
    """Nobody has to ask for it again and again."""
    note = {"operation": "write", "arguments": {"path": "AGENTS.md", "text": "Be brief.\n"}}
    place = house(
        tmp_path,
        spawning("/^go$/", task="weigh all"),
        spawning("/^weigh all/", task="note it"),
        {"when": "/^note it/", "calls": [note]},
        started("It is under way."),
        defaults=DEEP,
    )

    async def acts(room: Room) -> None:
        told: list[list[str]] = []

        async def watch() -> None:
            async for event in room.service.watch_session(MAIN):
                if event.kind == "session_status":
                    told.append(event.data["child_questions"])

        async def until(questions: list[str]) -> None:
            async with asyncio.timeout(120):
                while not told or told[-1] != questions:
                    await asyncio.sleep(0.02)

        watching = asyncio.create_task(watch())
        await room.say("go")
        await room.work_all()
        [asked] = await room.service.pending()
        await until([asked["id"]])
        await room.service.decide([DecisionRequest(asked["id"], "reject", "ann")])
        await until([])
        watching.cancel()

    acting(place, acts)


def test_a_fork_reads_what_was_said_before_it_and_its_parent_reads_on(tmp_path: Path) -> None:
    """Also when the parent has said more by then, which the fork must not know."""
    place = house(
        tmp_path,
        {"when": "/^one$/", "text": "First."},
        spawning("/^two$/", task="fork it", context="fork"),
        {"when": "/^fork it/", "text": "Forked."},
        started("Second."),
        {"when": "/^three$/", "text": "Third."},
    )
    place.environ["OPENCLAW_ANTHROPIC_PAYLOAD_LOG"] = "1"

    async def acts(room: Room) -> None:
        await room.say("one")
        two = await room.send("two")
        three = await room.send("three", queue_mode="queue")
        assert (two.queued, three.queued) == ("started", "queued")
        await room.work(str(two.run_id))
        await room.work_all()
        await room.say("four")

    acting(place, acts)
    said = [_said(each) for each in requests(place)]
    [fork] = [each for each in said if each[-1].startswith("fork it")]
    assert fork[:2] == ["one", "First."]
    assert not {"two", "three", "Second.", "Third."} & set(fork)
    whole = next(each for each in said if each[-1] == "four")
    assert [each for each in whole if each in ("one", "First.", "two", "Second.", "three", "Third.")] == [
        "one", "First.", "two", "Second.", "three", "Third.",
    ]  # fmt: skip


def _said(request: dict[str, Any]) -> list[str]:
    parts = [part for message in request["messages"] for part in message["parts"]]
    return [str(part["content"]) for part in parts if part["part_kind"] in ("user-prompt", "text")]
