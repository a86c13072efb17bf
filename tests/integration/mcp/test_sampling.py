"""A server that wants to use a model: refused unless allowed, then limited, counted and seen."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from colleague.mcp.sampling import SamplingAnswer, SamplingRequest
from colleague.mcp.servers import Servers
from tests.conftest import Colleague
from tests.integration.mcp.support import HERE, Bench
from tests.office import call

SCRIPT = HERE / "sampling_server.py"
KINDS = ["old", "new"]
ALLOWED = {"allow": True, "maxRequests": 2, "maxTokens": 50}


IMAGE = {"type": "image", "data": "QQ==", "mimeType": "image/png"}
TOOLS = [{"name": "x", "inputSchema": {"type": "object"}}]


class Poet:
    """The server, and a model that counts what it is asked."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.asked: list[SamplingRequest] = []

    async def model(self, request: SamplingRequest) -> SamplingAnswer:
        self.asked.append(request)
        return SamplingAnswer(f"verse {len(self.asked)}", "script")

    async def writes(self, **arguments: Any) -> str:
        self.asked.clear()
        key = json.dumps(arguments)
        return (await self.servers.call("poet", "poem", arguments, key=key, on_sampling=self.model)).text


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_refused_unless_the_settings_allow_it(bench: Bench, kind: str) -> None:
    bench.stdio("poet", [str(SCRIPT), kind])

    async def work(servers: Servers) -> None:
        poet = Poet(servers)
        text = await poet.writes()
        assert poet.asked == []
        assert "refused" in text or "the settings allow none" in text

    bench.run(work)


@pytest.mark.parametrize("kind", KINDS)
def test_allowed_it_is_limited(bench: Bench, kind: str) -> None:
    bench.stdio("poet", [str(SCRIPT), kind], sampling=ALLOWED)

    async def work(servers: Servers) -> None:
        poet = Poet(servers)
        assert json.loads(await poet.writes(times=2)) == ["verse 1", "verse 2"]
        assert [(each.server, each.number, each.max_tokens) for each in poet.asked] == [
            ("poet", 1, 50),
            ("poet", 2, 50),
        ]
        assert poet.asked[0].messages == (("user", "SAMPLE 0"),)
        assert "may ask a model 2 times" in await poet.writes(times=3)
        assert len(poet.asked) == 2
        assert "tools are not offered" in await poet.writes(more={"tools": TOOLS})
        assert "only text" in await poet.writes(more={"messages": [{"role": "user", "content": IMAGE}]})
        assert poet.asked == []

    bench.run(work)


def home(colleague: Colleague, root: Path, kind: str, **more: Any) -> None:
    entry = {"command": sys.executable, "args": ["-E", str(SCRIPT), kind], "sampling": {"allow": True}}
    settings = {"mcp": {"servers": {"poet": entry}}, "agents": {"defaults": {"model": "script/play.yaml"}}}
    colleague.home.mkdir(parents=True, exist_ok=True)
    (colleague.home / "colleague.json").write_text(json.dumps(settings | more))
    replies = [
        call("poet.poem"),
        {"text": "Done."},
        {"text": "A verse about rain.", "when": "SAMPLE"},
    ]
    (colleague.home / "play.yaml").write_text(json.dumps({"replies": replies}))


def test_the_agents_model_answers_and_the_run_says_who_asked(colleague: Colleague, tmp_path: Path) -> None:
    home(colleague, tmp_path, "old")
    colleague.ok("agent", "Write a poem.")
    [run] = colleague.ok("run", "list", "--json").json
    shown = colleague.ok("run", "show", run["id"], "--json").json
    assert "A verse about rain." in str(shown["calls"][0]["result"])
    assert any("sampling@poet/poem" in json.dumps(each) for each in shown["model_requests"])
