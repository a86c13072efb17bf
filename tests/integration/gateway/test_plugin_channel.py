"""A plugin with a channel in a running gateway: it brings messages, and takes the answers there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from colleague.config import load_settings
from colleague.plugins.enabling import enable_plugin
from tests.integration.gateway.harness import House

PLUGIN = """
import asyncio, json
from colleague.errors import ColleagueError

class Pigeons:
    name = "pigeon"
    capabilities = frozenset(["send"])

    def __init__(self, api):
        self.file = api.data / "flown.jsonl"

    def note(self, *what):
        with self.file.open("a") as file:
            file.write(json.dumps(what) + "\\n")

    async def act(self, action, what):
        self.note("flown", what.target.to, what.text, what.message_id)
        return what.key

    async def read(self, target, limit):
        return []

def register(api):
    channel = Pigeons(api)
    api.add_channel(channel)
    async def bring():
        for text in ("Hello", "\\0"):
            message = {"sender_id": "ann", "message_text": text, "message_id": "p1" + text}
            try:
                [taken] = (await api.receive("pigeon", message))["events"]
                channel.note("taken", taken["session_key"], taken["queued"])
            except ColleagueError as error:
                channel.note("refused", error.message)
        try:
            await api.receive("owl", {})
        except ColleagueError as error:
            channel.note("refused", error.message)
    async def begin(event):
        channel.task = asyncio.create_task(bring())
    api.on("gateway_start", begin)
"""


def test_what_it_brings_is_answered_there(tmp_path: Path) -> None:
    house = House(tmp_path).furnish()
    house.configure(
        agents={"defaults": {"model": "script/play.yaml"}},
        session={"dmScope": "per-channel-peer"},
        channels={"pigeon": {"replyToMode": "all"}},
    )
    folder = tmp_path / "plugins" / "pigeons"
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(PLUGIN)
    settings = load_settings(house.home)
    assert asyncio.run(enable_plugin(house.home, settings, house.environ, "pigeons")) == ""

    def noted() -> list[Any]:
        file = house.home.state / "plugin-data" / "pigeons" / "flown.jsonl"
        found = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return found if len(found) >= 4 else []

    with house.open() as gateway:
        found = gateway.until(noted)
    kinds = {each[0]: each[1:] for each in found}
    assert kinds["taken"] == ["agent:main:pigeon:dm:ann", "started"]
    assert kinds["flown"] == ["ann", "It is done.", "p1Hello"]
    said = [each[1] for each in found if each[0] == "refused"]
    assert "binary data" in said[0]
    assert said[1] == "the plugin has no channel 'owl'"
