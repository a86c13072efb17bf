"""Before a conversation is shortened, the agent saves what it wants to remember."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from colleague.agent.context.flush import PROMPT
from colleague.cli.run_text import run_lines
from colleague.store.session_entry import get_session
from tests.integration.sessions.room import MAIN, House, Room, acting, house

NOTE = "memory/2026-03-02.md"
WRITE = {"operation": "write", "arguments": {"path": NOTE, "text": "Ann drinks tea.\n"}}


def long_talk(tmp_path: Path, flush: dict[str, Any], **settings: Any) -> House:
    place = house(tmp_path, defaults={"compaction": {"memoryFlush": flush}}, **settings)
    replies = [
        {"when": "Summarise this conversation", "text": "Ann said much."},
        {"when": "about to be shortened", "calls": [WRITE]},
        {"when": "save notes now", "calls": [WRITE]},
        *([{"text": "Noted."}] * 60),
    ]
    script = {"log": "asked.jsonl", "context_window": 12_000, "replies": replies}
    (place.folder / "play.yaml").write_text(yaml.safe_dump(script))
    return place


async def talk(room: Room, turns: int = 8) -> None:
    for number in range(turns):
        run = await room.say(f"{number} " + "I like tea very much. " * 200)
        assert run is not None
        assert run.outcome == "completed", run.error
    entry = await room.database.read(lambda tx: get_session(tx, MAIN))
    assert entry.compaction_count >= 1


@pytest.mark.parametrize("flush", [{}, {"prompt": "save notes now", "systemPrompt": "Be short."}])
def test_notes_are_saved_and_nobody_sees_that(tmp_path: Path, flush: dict[str, Any]) -> None:
    async def acts(room: Room) -> None:
        await talk(room)
        assert (room.place.folder / "workspace" / NOTE).read_text() == "Ann drinks tea.\n"
        wanted = flush.get("prompt", PROMPT)
        assert any(told.startswith(wanted[:60]) for told in room.told())
        texts = [text for _, text in await room.texts()]
        assert not any(wanted[:60] in text for text in texts)
        assert texts.count("Noted.") == 8

    acting(long_talk(tmp_path, flush), acts)


def test_what_happens_beside_the_turn_is_recorded(tmp_path: Path) -> None:
    """Requests to save notes and to shorten: stored, counted, shown and traced."""

    async def acts(room: Room) -> None:
        await talk(room)
        ids = dict.fromkeys(item["run_id"] for item in await room.items() if item["run_id"])
        runs = [await room.service.run(each) for each in ids]
        run = next(each for each in runs if len(each["model_requests"]) > 2)
        names = [each["session"].partition("@")[0] for each in run["model_requests"]]
        assert names == ["flush", "flush", "compaction", "main"]
        assert run["usage"]["input_tokens"] == sum(each["input_tokens"] for each in run["model_requests"])
        shown = "\n".join(run_lines(run))
        assert "of these to save notes: 2 requests" in shown
        assert "of these to shorten the conversation: 1 request," in shown

    place = long_talk(tmp_path, {})
    acting(place, acts)
    file = place.folder / "logs" / "trajectory" / "agent_main_main.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    beside = [each for each in lines if "@" in each.get("transcript", "")]
    assert {each["transcript"].partition("@")[0] for each in beside} == {"flush", "compaction"}
    assert "Ann said much." in [each.get("content") for each in beside]
    assert "tool_result" in [each["type"] for each in beside]


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    async def acts(room: Room) -> None:
        await talk(room)
        assert not (room.place.folder / "workspace" / NOTE).exists()

    acting(long_talk(tmp_path, {"enabled": False}), acts)
