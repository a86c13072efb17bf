"""How far the tools of a session reach: files outside of the workspace, and other sessions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from colleague.runtime.requests import DecisionRequest
from colleague.sandbox.explanation import explain_sandbox
from tests.confined import needs_sandbox
from tests.integration.sessions.room import MAIN, House, Room, acting, house
from tests.integration.sessions.test_tools import result, using

ANN = "agent:main:test:dm:ann"
EVERYWHERE = {"tools": {"fs": {"workspaceOnly": False}}}


def list_agents(place: House, *entries: dict[str, Any]) -> None:
    file = place.folder / "colleague.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps(settings | {"agents": settings["agents"] | {"list": entries}}))


class TestFiles:
    def test_outside_reading_is_free_and_a_change_is_asked_about(self, tmp_path: Path) -> None:
        there = tmp_path / "notes.md"
        there.write_text("Go north.\n")
        place = house(
            tmp_path,
            using("read", "read", path=str(there)),
            using("edit", "change", path=str(there), edits=[{"old": "north", "new": "south"}]),
            using("read", "secret", path=str(tmp_path / "home/colleague.json")),
            using("read", "variables", path=str(tmp_path / "home/.env")),
            **EVERYWHERE,
        )

        async def acts(room: Room) -> None:
            assert "Go north." in await result(room, "read")
            await room.say("change")
            [asked] = await room.service.pending()
            assert asked["arguments"]["path"] == str(there)
            assert there.read_text() == "Go north.\n"
            await room.service.decide([DecisionRequest(asked["id"], "approve", "ann")])
            await room.work_all()
            assert there.read_text() == "Go south.\n"
            assert "none of your files" in await result(room, "secret")
            (tmp_path / "home/.env").write_text("KEY=hidden\n")
            assert "none of your files" in await result(room, "variables")

        acting(place, acts)

    def test_a_rule_for_the_tool_answers_for_the_person(self, tmp_path: Path) -> None:
        there = str(tmp_path / "notes.md")
        tools = {"fs": {"workspaceOnly": False}, "approvals": {"write": "auto"}}
        place = house(tmp_path, using("write", "write", path=there, text="South.\n"), tools=tools)

        async def acts(room: Room) -> None:
            assert "is written" in await result(room, "write")

        acting(place, acts)

    def test_what_belongs_to_others_and_keys_stay_closed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path / "user"))
        closed = ["user/.ssh/id", "user/.aws/credentials", "other/notes.md", "boxes/agent-b/notes.md"]
        for each in closed:
            (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / each).write_text("a secret of others")
        paths = [*(str(tmp_path / each) for each in closed), "/proc/self/environ", "/proc/1/environ"]
        read = [using("read", f"read {number} ", path=path) for number, path in enumerate(paths)]
        place = house(
            tmp_path, *read, **EVERYWHERE, defaults={"sandbox": {"workspaceRoot": str(tmp_path / "boxes")}}
        )
        list_agents(place, {"id": "b", "workspace": str(tmp_path / "other")})

        async def acts(room: Room) -> None:
            for number, path in enumerate(paths):
                said = await result(room, f"read {number} ")
                assert "none of your files" in said, path

        acting(place, acts)

    @pytest.mark.parametrize(
        ("settings", "outside"),
        [
            ({}, False),
            (EVERYWHERE, True),
            pytest.param(
                {**EVERYWHERE, "defaults": {"sandbox": {"mode": "all"}}}, False, marks=needs_sandbox
            ),
            ({**EVERYWHERE, "list": [{"id": "main", "tools": {"fs": {"workspaceOnly": True}}}]}, False),
            ({"list": [{"id": "main", "tools": {"fs": {"workspaceOnly": False}}}]}, True),
        ],
    )
    def test_who_may_and_who_says_so(self, tmp_path: Path, settings: dict[str, Any], outside: bool) -> None:
        place = house(tmp_path, **{key: value for key, value in settings.items() if key != "list"})
        list_agents(place, *settings.get("list", []))

        async def acts(room: Room) -> None:
            [read] = [each for each in await room.service.tools(MAIN) if each["tool"] == "read"]
            assert ("reaches the whole disk" in read["note"]) is outside
            found = explain_sandbox(place.home, room.settings, MAIN, place.environ)
            assert found["files_outside"] is outside
            prompt = await room.service.prompt(MAIN)
            assert ("have absolute paths" in prompt["prompt"]) is outside

        acting(place, acts)


class TestSessions:
    @pytest.mark.parametrize(
        ("sandbox", "seen"),
        [
            ({"mode": "off"}, True),
            ({"mode": "non-main"}, True),
            pytest.param({"mode": "all"}, False, marks=needs_sandbox),
            pytest.param({"mode": "all", "sessionToolsVisibility": "spawned"}, False, marks=needs_sandbox),
            pytest.param({"mode": "all", "sessionToolsVisibility": "all"}, True, marks=needs_sandbox),
        ],
    )
    def test_a_sandboxed_session_sees_those_it_spawned(
        self, tmp_path: Path, sandbox: dict[str, Any], seen: bool
    ) -> None:
        read = using("sessions_history", "look", sessionKey=ANN)
        tools = {"sessions": {"visibility": "all"}}
        place = house(tmp_path, read, tools=tools, defaults={"sandbox": sandbox})

        async def acts(room: Room) -> None:
            await room.say("the code is heron", ANN)
            said = await result(room, "look")
            assert ("heron" in said) is seen
            assert ("is not visible from here" in said) is not seen
            found = await asyncio.to_thread(explain_sandbox, place.home, room.settings, MAIN, place.environ)
            assert found["sessions"] == ("all" if seen else "tree")

        acting(place, acts)
