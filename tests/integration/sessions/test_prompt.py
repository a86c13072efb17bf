"""What is really sent: the same beginning in every turn, marked for the cache, and what the cache gave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.models.resolved import Api
from colleague.agent.prompt.bootstrap_files import SUBAGENT
from colleague.agent.prompt.bootstrap_templates import write_bootstrap_files
from colleague.cli.run_text import run_lines
from colleague.errors import UsageError
from colleague.store.session_entry import open_session
from tests.integration.models import anthropic_wire as wire
from tests.integration.models import providers
from tests.integration.models.server import Stream, WireServer, serving
from tests.integration.sessions.room import DAY, MAIN, House, Room, acting, house

FIRST = Stream([wire.started(written=900), *wire.text(0, "Hello."), *wire.ended()])
SAID: dict[Api, list[str]] = {
    "openai-completions": providers.chat(False),
    "openai-responses": providers.responses(False),
    "google": providers.gemini(False),
}
Acts = Callable[[Room, WireServer], Awaitable[None]]
LATER = Stream([wire.started(read=900, written=40), *wire.text(0, "Yes."), *wire.ended()])


def at_anthropic(tmp_path: Path, acts: Acts, **defaults: Any) -> None:
    """A home whose model is Anthropic's, as far as the wire shows."""
    at_provider(tmp_path, acts, "anthropic-messages", [FIRST, LATER, LATER, LATER], **defaults)


def at_provider(tmp_path: Path, acts: Acts, api: Api, answers: list[Stream], **defaults: Any) -> None:
    async def go() -> None:
        async with serving(*answers) as server:
            provider = {
                "baseUrl": server.url + ("/v1" if api.startswith("openai") else ""),
                "apiKey": "-".join(("sk", "test", "key")),
                "api": api,
                "models": [{"id": "claude", "maxTokens": 1000}],
            }
            place = house(
                tmp_path,
                defaults={"model": "wire/claude", **defaults},
                models={"providers": {"wire": provider}},
            )
            write_bootstrap_files(place.folder / "workspace")
            async with place.open() as room:
                await acts(room, server)

    asyncio.run(go())


def test_the_beginning_is_byte_equal_from_turn_to_turn(tmp_path: Path) -> None:
    async def acts(room: Room, server: WireServer) -> None:
        await room.say("Good morning.")
        room.place.clock.move(seconds=DAY // 1000 + 3661)
        await room.say("Are you there?")
        first, second = (request.body for request in server.requests)
        assert first["tools"] == second["tools"]
        assert json.dumps(first["system"]) == json.dumps(second["system"])
        tail, tail_later = (each["messages"][-1]["content"][-1] for each in (first, second))
        assert "## BOOTSTRAP.md" in tail["text"]
        assert "Monday, 2 March 2026, 09:00 (Europe/Berlin, UTC+01:00)" in tail["text"]
        assert "## BOOTSTRAP.md" not in tail_later["text"]
        assert "Tuesday, 3 March 2026, 10:01" in tail_later["text"]

    at_anthropic(tmp_path, acts)


def test_the_history_is_byte_equal_from_turn_to_turn(tmp_path: Path) -> None:
    """All that was said before stands before the time, so the cache reaches over it."""

    async def acts(room: Room, server: WireServer) -> None:
        for text in ("Good morning.", "Are you there?", "Go on."):
            await room.say(text)
            room.place.clock.move(seconds=61)
        bodies = [request.body for request in server.requests]
        for before, after in pairwise(bodies):
            cached, next_blocks = cached_prefix(before), blocks_of(after)
            assert len(cached) > 2
            assert next_blocks[: len(cached)] == cached
        assert len(cached_prefix(bodies[2])) > len(cached_prefix(bodies[1]))
        assert all(json.dumps(each).count("cache_control") <= 4 for each in bodies), "Anthropic takes no more"

    at_anthropic(tmp_path, acts)


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses", "google"])
def test_others_find_the_history_as_it_was(tmp_path: Path, api: Api) -> None:
    """They cache the longest known beginning: it reaches over all that was said before."""

    async def acts(room: Room, server: WireServer) -> None:
        for text in ("Good morning.", "Are you there?", "Go on."):
            await room.say(text)
            room.place.clock.move(seconds=61)
        sent = [_in_order(request.body) for request in server.requests]
        for (before, said), (after, _) in pairwise(
            zip(sent, ("Good morning.", "Are you there?", ""), strict=True)
        ):
            same = _common_beginning(before, after)
            assert same.endswith(said), "all up to what was said last"
            assert "Current Date" not in same
        assert "09:02" in sent[2]

    at_provider(tmp_path, acts, api, [Stream(SAID[api])] * 3)


def _common_beginning(one: str, other: str) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((place for place, (this, that) in pairs if this != that), len(one))]


def _in_order(body: dict[str, Any]) -> str:
    """A request as it is cached: tools, system prompt, messages."""
    names = ("tools", "instructions", "systemInstruction", "messages", "input", "contents")
    return json.dumps([body[name] for name in names if name in body], ensure_ascii=False)


def blocks_of(body: dict[str, Any]) -> list[str]:
    """A request as Anthropic caches it: block after block, without the marks."""
    blocks = [*body["tools"], *body["system"]]
    for message in body["messages"]:
        blocks += [{"role": message["role"]} | block for block in message["content"]]
    return [_unmarked(block) for block in blocks]


def _unmarked(block: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in block.items() if key != "cache_control"})


def cached_prefix(body: dict[str, Any]) -> list[str]:
    """Up to the mark behind what was said last."""
    said = body["messages"][-1]["content"]
    marked = max(number for number, block in enumerate(said[:-1]) if "cache_control" in block)
    behind = len(said) - 1 - marked
    return blocks_of(body)[:-behind]


def test_what_stays_is_marked_for_the_cache(tmp_path: Path) -> None:
    async def acts(room: Room, server: WireServer) -> None:
        await room.say("Good morning.")
        sent = server.requests[0].body
        [stable] = sent["system"]
        assert stable["cache_control"] == {"type": "ephemeral", "ttl": "5m"}
        assert [("cache_control" in tool) for tool in sent["tools"]][-2:] == [False, True]
        assert "cache_control" in sent["messages"][-1]["content"][-1]

    at_anthropic(tmp_path, acts)


def test_what_the_cache_gave_is_kept_and_shown(tmp_path: Path) -> None:
    async def acts(room: Room, server: WireServer) -> None:
        first, second = await room.say("Good morning."), await room.say("Are you there?")
        assert first is not None
        assert second is not None
        written, read = [await room.service.run(each.id) for each in (first, second)]
        assert (written["usage"]["cache_write_tokens"], written["usage"]["cache_read_tokens"]) == (900, 0)
        assert (read["usage"]["cache_write_tokens"], read["usage"]["cache_read_tokens"]) == (40, 900)
        assert read["usage"]["input_tokens"] == 990
        line = next(each for each in run_lines(read) if "tokens in" in each)
        assert line.startswith("  990 tokens in (900 from the cache, 40 into the cache), 20 out, ")

    at_anthropic(tmp_path, acts)


def test_a_fresh_home_has_a_short_prompt(tmp_path: Path) -> None:
    place = house(tmp_path)
    write_bootstrap_files(place.folder / "workspace")

    async def acts(room: Room) -> None:
        found = await room.service.prompt("main")
        assert found["chars"] == len(found["prompt"]) < 7_800
        assert (
            found["stable_chars"] + 2 + sum(_changing(found)) + 2 * (len(_changing(found)) - 1)
            == found["chars"]
        )

    acting(place, acts)


def _changing(found: Any) -> list[int]:
    return [each["chars"] for each in found["sections"] if each["changes"]]


def test_the_report_is_in_the_entry_of_the_session(tmp_path: Path) -> None:
    place = house(tmp_path)

    async def acts(room: Room) -> None:
        (place.folder / "workspace" / "AGENTS.md").write_text("A" * 30_000)
        (place.folder / "workspace" / "USER.md").mkdir()
        await room.say("Hello.")
        report = (await room.service.session(MAIN))["system_prompt_report"]
        assert report is not None
        files = {each["name"]: each for each in report["files"]}
        assert (files["AGENTS.md"]["status"], files["AGENTS.md"]["chars"]) == ("cut", 30_000)
        assert (
            files["USER.md"]["problem"] == "USER.md in the workspace is not as it should be: it is a folder"
        )
        assert report["chars"] == sum(each["chars"] + 2 for each in report["sections"]) - 2
        assert report["tool_schemas"]["chars"] > 1_000
        before = report["generated_at"]
        place.clock.move(seconds=60)
        await room.say("Again.")
        again = (await room.service.session(MAIN))["system_prompt_report"]
        assert again is not None
        assert again["generated_at"] == before
        assert {"AGENTS.md", "USER.md"} <= {
            each["name"] for each in (await room.service.prompt(MAIN))["files"]
        }

    acting(place, acts)


def test_changed_files_are_seen_in_the_next_turn(tmp_path: Path) -> None:
    async def acts(room: Room, server: WireServer) -> None:
        file = room.place.folder / "workspace" / "AGENTS.md"
        file.write_text("Say hello.")
        await room.say("One.")
        file.write_text("Say goodbye.")
        await room.say("Two.")
        first, second = (request.body["system"][0]["text"] for request in server.requests)
        assert "Say hello." in first
        assert "Say goodbye." in second

    at_anthropic(tmp_path, acts)


def test_limits_of_one_agent_count_for_it(tmp_path: Path) -> None:
    agents = [{"id": "atlas", "bootstrapMaxChars": 100, "workspace": str(tmp_path / "atlas")}]
    place: House = house(tmp_path)
    settings = json.loads((place.folder / "colleague.json").read_text())
    settings["agents"]["list"] = [{"id": "main"}, *agents]
    (place.folder / "colleague.json").write_text(json.dumps(settings))
    for folder in (tmp_path / "atlas", place.folder / "workspace"):
        folder.mkdir(exist_ok=True)
        (folder / "AGENTS.md").write_text("A" * 500)

    async def acts(room: Room) -> None:
        for key, status in (("agent:atlas:main", "cut"), (MAIN, "whole")):
            [file] = [f for f in (await room.service.prompt(key))["files"] if f["name"] == "AGENTS.md"]
            assert file["status"] == status, key

    acting(place, acts)


def test_a_sub_agent_has_a_short_prompt_with_its_task(tmp_path: Path) -> None:
    place = house(tmp_path)
    write_bootstrap_files(place.folder / "workspace")
    key, task = (
        "agent:main:subagent:0d6ac1b1",
        {"task": "Count to three.", "requester": MAIN, "label": "counter"},
    )

    async def acts(room: Room) -> None:
        known = {"origin": json.dumps(task), "spawned_by": MAIN, "spawn_depth": 1}
        await room.database.write(lambda tx: open_session(tx, key, "main", **known))
        found = await room.service.prompt(key)
        assert [each["name"] for each in found["sections"]] == [
            *("tooling", "safety", "workspace", "surroundings", "project_context", "date_and_time", "runtime")
        ]
        assert "Started by agent:main:main, as counter." in found["prompt"]
        assert '<data source="task">\nCount to three.\n</data>' in found["prompt"]
        assert [each["name"] for each in found["files"]] == list(SUBAGENT)
        assert "memory_search" not in found["tools"]

    acting(place, acts)


def test_a_prompt_of_an_expert_is_found_elsewhere(tmp_path: Path) -> None:
    async def acts(room: Room) -> None:
        await room.database.write(lambda tx: open_session(tx, "agent:main:expert:clerk", "main"))
        with pytest.raises(UsageError, match="is a session of an expert") as raised:
            await room.service.prompt("expert:clerk")
        assert raised.value.hint == "see its prompt with: colleague expert prompt clerk"

    acting(house(tmp_path), acts)
