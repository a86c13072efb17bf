"""The tool policy in real turns: what is denied is not offered and, called all the same, refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from colleague.errors import NotFound, UsageError
from colleague.runtime.requests import DecisionRequest
from colleague.store.session_entry import open_session
from tests.integration.mcp import bare
from tests.integration.sessions.room import DONE, MAIN, House, Room, acting, house
from tests.integration.sessions.test_tools import result, using

SCRIPT = {"defaults": {"model": "script/play.yaml"}}


def ledger(tmp_path: Path) -> dict[str, Any]:
    """An MCP server that writes lines into a file."""
    entry = {"command": sys.executable, "args": [bare.__file__], "env": {"LEDGER": str(lines(tmp_path))}}
    return {"servers": {"bare": entry}}


def lines(tmp_path: Path) -> Path:
    return tmp_path / "ledger.txt"


async def offered(room: Room, session: str = MAIN) -> list[str]:
    return list((await room.service.prompt(session))["tools"])


WRITE_LINE = using("bare.write_ledger", "note", line="x")


def test_a_denied_tool_is_not_offered_and_refused(tmp_path: Path) -> None:
    place = house(tmp_path, using("write", "keep", path="a.txt", text="x"), tools={"deny": ["group:fs"]})

    async def acts(room: Room) -> None:
        assert not {"read", "write", "edit"} & set(await offered(room))
        said = await result(room, "keep it")
        assert said == "write may not be used here: tools.deny: group:fs (policy layer: global)"
        assert not (place.folder / "workspace" / "a.txt").exists()
        found = await room.service.tool(MAIN, "write")
        assert (found["offered"], found["decided_by"]["layer"]) == (False, "global")
        with pytest.raises(NotFound, match="there is no tool 'writ'"):
            await room.service.tool(MAIN, "writ")

    acting(place, acts)


@pytest.mark.parametrize("pattern", ["bare.write_ledger", "bare__write*", "group:mcp", "*"])
def test_a_tool_of_a_server_by_its_name_a_pattern_or_the_group(tmp_path: Path, pattern: str) -> None:
    place = house(tmp_path, WRITE_LINE, mcp=ledger(tmp_path), tools={"deny": [pattern]})

    async def acts(room: Room) -> None:
        assert "bare.write_ledger" not in await offered(room)
        assert f"tools.deny: {pattern} (policy layer: global)" in await result(room, "note it")
        assert not lines(tmp_path).exists()
        assert await room.service.pending() == []

    acting(place, acts)


def test_the_tier_of_a_tool_of_a_server(tmp_path: Path) -> None:
    tools = {"approvals": {"bare__*": "manual", "bare.write_ledger": "auto"}}
    place = house(tmp_path, WRITE_LINE, mcp=ledger(tmp_path), tools=tools)

    async def acts(room: Room) -> None:
        assert "written" in await result(room, "note it")
        assert lines(tmp_path).read_text() == "x\n"
        tiers = {each["tool"]: each["tier"] for each in await room.service.tools(MAIN)}
        assert (tiers["bare.write_ledger"], tiers["bare.crash"], tiers["read"]) == ("auto", "manual", "auto")

    acting(place, acts)


def test_a_yes_does_not_count_after_the_tool_was_denied(tmp_path: Path) -> None:
    place = house(tmp_path, WRITE_LINE, mcp=ledger(tmp_path))

    async def asks(room: Room) -> None:
        await room.say("note it")
        assert [each["operation"] for each in await room.service.pending()] == ["bare.write_ledger"]

    async def decides(room: Room) -> None:
        [asked] = await room.service.pending()
        await room.service.decide([DecisionRequest(asked["id"], "approve", "ann")])
        await room.work_all()
        assert "bare.write_ledger may not be used here: tools.deny: bare.*" in room.told()[-1]
        assert not lines(tmp_path).exists()

    acting(place, asks)
    place.write([DONE] * 9, mcp=ledger(tmp_path), tools={"deny": ["bare.*"]})
    acting(place, decides)


def test_a_yes_to_what_is_only_drafted_by_now(tmp_path: Path) -> None:
    place = house(tmp_path, WRITE_LINE, mcp=ledger(tmp_path))

    async def asks(room: Room) -> None:
        await room.say("note it")

    async def decides(room: Room) -> None:
        [asked] = await room.service.pending()
        await room.service.decide([DecisionRequest(asked["id"], "approve", "ann")])
        await room.work_all()
        assert (await room.service.approval(asked["id"]))["status"] == "void"
        assert [each["kind"] for each in await room.service.pending()] == ["draft"]
        assert not lines(tmp_path).exists()

    acting(place, asks)
    place.write([DONE] * 9, mcp=ledger(tmp_path), tools={"approvals": {"group:mcp": "manual"}})
    acting(place, decides)


NEVER_OF_SUBAGENTS = (
    *("sessions_send", "sessions_spawn", "sessions_list", "sessions_history", "session_status"),
    *("gateway", "agents_list", "memory_search", "memory_get"),
)


def test_agents_sub_agents_groups_and_providers(tmp_path: Path) -> None:
    research = {"id": "research", "tools": {"profile": "minimal", "alsoAllow": ["ls"]}}
    place = house(
        tmp_path,
        agents={**SCRIPT, "list": [research]},
        tools={"byProvider": {"script": {"deny": ["cron"]}}, "subagents": {"tools": {"deny": ["grep"]}}},
        channels={"telegram": {"groups": {"-1": {"tools": {"allow": ["read", "sessions_*"]}}}}},
    )

    async def acts(room: Room) -> None:
        group, child, grandchild = "agent:main:telegram:group:-1", "subagent:a", "subagent:b"
        for key, agent, known in (
            (group, "main", {}),
            ("agent:main:telegram:dm:-1", "main", {}),
            (f"agent:main:{child}", "main", {"spawned_by": MAIN, "spawn_depth": 1}),
            (f"agent:main:{grandchild}", "main", {"spawned_by": f"agent:main:{child}", "spawn_depth": 2}),
            ("agent:main:subagent:c", "main", {"spawned_by": group, "spawn_depth": 1}),
        ):
            await room.database.write(lambda tx, a=(key, agent), k=known: open_session(tx, *a, **k))
        assert await offered(room, "agent:research:main") == ["ls", "session_status"]
        main = await offered(room)
        assert ("cron" in main, "grep" in main, "read" in main) == (False, True, True)
        assert set(await offered(room, group)) == {
            *("read", "sessions_send", "sessions_spawn", "sessions_list", "sessions_history")
        }
        assert await offered(room, "agent:main:telegram:dm:-1") == main
        for key in (child, grandchild):
            found = set(await offered(room, f"agent:main:{key}"))
            assert found >= {"read", "ls", "find", "write", "edit", "exec", "subagents", "proposals"}
            assert not found & {"grep", "cron", "message", *NEVER_OF_SUBAGENTS}
        assert await offered(room, "agent:main:subagent:c") == ["read"], "its parent is in the group"

    acting(place, acts)


def test_a_fallback_never_has_what_is_denied_to_it(tmp_path: Path) -> None:
    model = {"primary": "script/play.yaml", "fallbacks": ["openai/gpt-5"]}
    place = house(tmp_path, defaults={"model": model}, tools={"byProvider": {"openai": {"deny": ["write"]}}})

    async def acts(room: Room) -> None:
        assert "write" not in await offered(room)
        rule = (await room.service.tool(MAIN, "write"))["decided_by"]["rule"]
        assert rule == "tools.byProvider.openai.deny: write"

    acting(place, acts)


def test_a_regular_check_has_no_other_tools(tmp_path: Path) -> None:
    check = using("write", "Regular check", path="a.txt", text="x") | {"when": "Regular check"}
    defaults = {"heartbeat": {"every": "30m", "target": "last"}}
    place = house(tmp_path, check, defaults=defaults, tools={"deny": ["write"]})

    async def acts(room: Room) -> None:
        (place.folder / "workspace" / "HEARTBEAT.md").write_text("- look\n")
        await room.tick()
        place.clock.move(seconds=1800)
        await room.tick()
        [run] = await room.work_all()
        assert run.outcome == "completed"
        assert "write may not be used here: tools.deny: write" in room.told()[-1]
        assert not (place.folder / "workspace" / "a.txt").exists()

    acting(place, acts)


class TestRepeats:
    def calls(self, *tools: str) -> list[dict[str, Any]]:
        return [{"calls": [{"operation": tool, "arguments": {"path": "nothing"}}]} for tool in tools]

    def place(self, tmp_path: Path, detection: dict[str, Any]) -> House:
        return house(tmp_path, *self.calls(*["read"] * 6), tools={"loopDetection": detection})

    def test_the_same_call_so_often_in_a_row_ends_the_turn(self, tmp_path: Path) -> None:
        async def acts(room: Room) -> None:
            run = await room.say("go")
            assert run is not None
            assert run.error == "the same call was made 4 times in a row: read"

        acting(self.place(tmp_path, {"criticalThreshold": 4}), acts)

    @pytest.mark.parametrize("detection", [{}, {"enabled": False, "criticalThreshold": 2}])
    def test_not_before_and_not_when_it_is_off(self, tmp_path: Path, detection: dict[str, Any]) -> None:
        async def acts(room: Room) -> None:
            run = await room.say("go")
            assert run is not None
            assert run.outcome == "completed"

        acting(self.place(tmp_path, detection), acts)


def test_a_session_of_an_expert_has_its_bindings(tmp_path: Path) -> None:
    async def acts(room: Room) -> None:
        key = "agent:main:expert:clerk"
        await room.database.write(lambda tx: open_session(tx, key, "main"))
        with pytest.raises(UsageError, match="is a session of an expert") as caught:
            await room.service.tools(key)
        assert "its tools are its bindings: colleague expert show clerk" in caught.value.hint
        assert json.dumps(await room.service.tools(MAIN))

    acting(house(tmp_path), acts)
