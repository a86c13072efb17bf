"""A plugin of an installed package: its channel takes results, its hook changes or cancels them."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from colleague.channels.channel import Outgoing, Target
from colleague.config import Settings
from colleague.config.status import without_effect
from colleague.plugins.delivery_channel import PluginDeliveries
from colleague.plugins.enabling import disable_plugin, enable_plugin
from colleague.plugins.plugin_set import open_plugins
from colleague.plugins.report import plugin_channels, plugin_documents, served_channels
from tests.integration.experts.package import Package, process
from tests.integration.experts.stage import Stage, on_stage
from tests.office import finished

CODE = """
import json

class Slack:
    name = "slack"
    capabilities = frozenset(["send"])

    def __init__(self, file):
        self.file = file

    async def act(self, action, what):
        with self.file.open("a") as file:
            file.write(json.dumps(what.text) + "\\n")
        return what.key

    async def read(self, target, limit):
        return []

def register(api):
    api.add_channel(Slack(api.data / api.channel_config("slack").get("file", "paged.jsonl")))
    async def sending(event):
        if event.kind == "delivery" and "secret" in event.text:
            return {"cancel": True, "reason": "it names a secret"}
        return {"text": event.text + " (checked)"}
    api.on("message_sending", sending)
"""


@pytest.fixture
def pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package that declares an entry point, as pip would have installed it."""
    site = tmp_path / "site"
    info = site / "pager_plugin-1.2.dist-info"
    info.mkdir(parents=True)
    (site / "pager_plugin.py").write_text(CODE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pager-plugin\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[colleague.plugins]\npager = pager_plugin:register\n")
    monkeypatch.syspath_prepend(str(site))
    # The module of another test is still there, and its files are gone.
    monkeypatch.delitem(sys.modules, "pager_plugin", raising=False)
    return "pager"


def paged(stage: Stage) -> list[str]:
    file = stage.home.state / "plugin-data" / "pager" / "paged.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@on_stage
async def test_results_go_to_its_channel_as_its_hook_wants_them(stage: Stage, pager: str) -> None:
    stage.install(Package(files={"processes/work.md": process(delivery={"channel": "slack"})}))
    settings = stage.settings
    assert plugin_channels(stage.home, settings) == frozenset()
    assert await enable_plugin(stage.home, settings, os.environ, pager) == ""
    assert [(each["name"], each["kind"], each["version"]) for each in plugin_documents(stage.home)] == [
        ("pager", "package", "1.2")
    ]
    assert plugin_channels(stage.home, settings) == {"slack"}

    async with open_plugins(stage.home, settings, os.environ) as plugins:
        deliveries = {name: PluginDeliveries(each) for name, each in plugins.channels.items()}
        places = {**stage.sender.channels, **deliveries}
        stage.sender = replace(stage.sender, channels=places, hooks=plugins.hooks)
        await stage.run(finished("All is written."))
        assert (await stage.report())["delivery"]["status"] == "delivered"
        await stage.run(finished("The secret is out."))
        assert (await stage.report())["delivery"]["status"] == "cancelled"
    [text] = paged(stage)
    assert text.startswith("All is written. (checked)")

    disable_plugin(stage.home, pager)
    assert plugin_channels(stage.home, settings) == frozenset()


@on_stage
async def test_the_settings_of_a_channel_reach_it_and_switch_it_off(stage: Stage, pager: str) -> None:
    def with_channel(**own: object) -> Settings:
        return stage.settings.model_copy(update={"channels": {"slack": own}})

    settings, environ = with_channel(file="${PAGES}"), {**os.environ, "PAGES": "other.jsonl"}
    assert await enable_plugin(stage.home, settings, environ, pager) == ""
    async with open_plugins(stage.home, settings, environ) as plugins:
        what = Outgoing(Target("main", "agent:main:main"), "key", "Hello.")
        await plugins.channels["slack"].act("send", what)
    assert (stage.home.state / "plugin-data/pager/other.jsonl").read_text() == '"Hello."\n'
    assert "slack" in served_channels(stage.home, settings)

    off = with_channel(enabled=False)
    async with open_plugins(stage.home, off, environ) as plugins:
        assert plugins.channels == {}
    assert "slack" not in served_channels(stage.home, off)
    assert without_effect(off, ()) == []

    async with open_plugins(stage.home, with_channel(file="${NO_SUCH}"), {}) as plugins:
        assert plugins.channels == {}
    [found] = plugin_documents(stage.home)
    assert "the environment variable NO_SUCH is not set" in found["problems"][0]["message"]
