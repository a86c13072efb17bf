"""Servers that others wrote, called directly and by an agent.

`scripts/mcp-servers` installs them; where it could not, these tests are skipped."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from colleague.mcp.call import CallProgress
from colleague.mcp.servers import Servers
from tests.conftest import Colleague
from tests.integration.mcp.support import Bench

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "colleague-tests"


def installed(folder: str, program: str) -> str:
    if not (CACHE / folder / "ready").exists():
        pytest.skip(
            f"{CACHE / folder} is not there: scripts/mcp-servers could not install it, or was not run"
        )
    return str(CACHE / folder / program)


@pytest.fixture(scope="module")
def everything() -> str:
    return installed("mcp-npm-1", "node_modules/.bin/mcp-server-everything")


@pytest.fixture(scope="module")
def filesystem() -> str:
    return installed("mcp-npm-1", "node_modules/.bin/mcp-server-filesystem")


@pytest.fixture(scope="module")
def git_server() -> str:
    return installed("mcp-pypi-1", "bin/mcp-server-git")


@pytest.fixture(scope="module")
def time_server() -> str:
    return installed("mcp-pypi-1", "bin/mcp-server-time")


def test_the_everything_server(bench: Bench, everything: str) -> None:
    bench.servers["everything"] = {"command": everything, "env": {"BENCH": str(bench.root)}}
    heard: list[CallProgress] = []

    async def hear(progress: CallProgress) -> None:
        heard.append(progress)

    async def work(servers: Servers) -> None:
        names = {tool.name for tool in await servers.tools("everything")}
        assert "echo" in names
        echo = await servers.call("everything", "echo", {"message": "hi"}, key="k1")
        assert "hi" in echo.text
        slow = next(name for name in names if "long-running" in name)
        arguments = {"duration": 0.5, "steps": 2}
        await servers.call("everything", slow, arguments, key="k2", on_progress=hear)
        assert len(heard) == 2
        image = next(name for name in names if "image" in name)
        assert "[image image/png, " in (await servers.call("everything", image, {}, key="k3")).text
        resources = await servers.resources("everything")
        [first, *_] = [each for each in resources if each.get("uri")]
        assert await servers.read("everything", first["uri"])
        prompts = {each["name"]: each for each in await servers.prompts("everything")}
        simple = next(name for name, each in prompts.items() if not each.get("arguments"))
        assert "user: " in await servers.prompt("everything", simple, {})

    bench.run(work)


class Agent:
    """A home with real servers, and a model that plays a script."""

    def __init__(self, colleague: Colleague, servers: dict[str, Any]) -> None:
        self.colleague = colleague
        colleague.home.mkdir(parents=True, exist_ok=True)
        model = {"agents": {"defaults": {"model": "script/play.yaml"}}}
        (colleague.home / "colleague.json").write_text(json.dumps({"mcp": {"servers": servers}, **model}))

    def play(self, *calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """One turn that makes these calls; what came of each."""
        made = [{"operation": name, "arguments": arguments} for name, arguments in calls]
        script = {"replies": [{"calls": made}, *[{"text": "Done."}] * 9]}
        (self.colleague.home / "play.yaml").write_text(json.dumps(script))
        self.colleague("agent", "Do it.")
        for asked in self.colleague.ok("approval", "list", "--json").json:
            self.colleague.ok("approve", asked["id"])
        runs = self.colleague.ok("run", "list", "--json").json
        documents = [self.colleague.ok("run", "show", each["id"], "--json").json for each in runs]
        found = [call for document in reversed(documents) for call in document["calls"]]
        return [call for call in found if call["status"] == "finished"]


def test_an_agent_reads_with_three_servers_at_once(
    colleague: Colleague, tmp_path: Path, everything: str, filesystem: str, time_server: str
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "note.txt").write_text("the answer is 42")
    agent = Agent(
        colleague,
        {
            "everything": {"command": everything},
            "files": {"command": filesystem, "args": [str(folder)], "roots": [str(folder)]},
            "time": {"command": time_server},
        },
    )
    found = agent.play(
        ("files.read_text_file", {"path": str(folder / "note.txt")}),
        ("time.get_current_time", {"timezone": "Europe/Vienna"}),
        ("mcp_resources", {"action": "list", "server": "everything"}),
        ("mcp_prompts", {"action": "list", "server": "everything"}),
        ("mcp_resources", {"action": "read", "server": "everything", "uri": "demo://nowhere"}),
    )
    said = {call["operation"]: call for call in found[:4]}
    assert "the answer is 42" in said["files.read_text_file"]["result"]["text"]
    assert "Europe/Vienna" in said["time.get_current_time"]["result"]["text"]
    assert "demo://" in said["mcp_resources"]["result"]["text"]
    assert said["mcp_resources"]["result"]["source"] == "mcp:everything"
    assert "name" in said["mcp_prompts"]["result"]["text"]
    assert found[-1]["is_error"]


def test_an_agent_commits_after_a_yes(colleague: Colleague, tmp_path: Path, git_server: str) -> None:
    repository = tmp_path / "repository"
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    for key, value in (("user.name", "A"), ("user.email", "a@example.org")):
        subprocess.run(["git", "-C", str(repository), "config", key, value], check=True)
    (repository / "a.txt").write_text("a")
    subprocess.run(["git", "-C", str(repository), *author, "add", "."], check=True)
    agent = Agent(colleague, {"git": {"command": git_server, "args": ["--repository", str(repository)]}})
    agent.play(("git.git_commit", {"repo_path": str(repository), "message": "By an agent"}))
    log = subprocess.run(
        ["git", "-C", str(repository), "log", "--format=%s"], check=True, capture_output=True, text=True
    )
    assert log.stdout == "By an agent\n"
