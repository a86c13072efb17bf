"""Servers that others wrote, each in an environment of its own; skipped when they cannot be had."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from colleague.files import locked
from colleague.mcp.call import CallProgress
from colleague.mcp.servers import Servers
from tests.integration.mcp.support import Bench

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "colleague-tests"
EVERYTHING = "@modelcontextprotocol/server-everything@2026.8.31"
TIME = "mcp-server-time==2026.10.19"


LONG = os.environ.get("COLLEAGUE_LONG") == "1"


def run(*command: str, seconds: float) -> None:
    """Skips the test when the command fails or takes too long."""
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=seconds)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{' '.join(command[:3])} ... did not work: {type(error).__name__}")


def installed(name: str, program: str, *steps: tuple[list[str], float]) -> Path:
    """The program in a cached folder, installed by the steps on first use."""
    folder = CACHE / name
    with locked(CACHE / f"{name}.lock", wait_seconds=100):
        if not (folder / "ready").exists():
            if not LONG:
                pytest.skip(f"{name} is not in {CACHE} yet; make test-long puts it there")
            shutil.rmtree(folder, ignore_errors=True)
            for command, seconds in steps:
                run(*command, seconds=seconds)
            (folder / "ready").touch()
    return folder / program


@pytest.fixture(scope="module")
def everything() -> Path:
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    folder = CACHE / "everything-2026.8.31"
    quiet = ["--no-audit", "--no-fund", "--silent"]
    return installed(
        folder.name,
        "node_modules/.bin/mcp-server-everything",
        (["npm", "view", EVERYTHING, "version"], 5),
        (["npm", "install", *quiet, "--prefix", str(folder), EVERYTHING], 60),
    )


@pytest.fixture(scope="module")
def time_server() -> Path:
    folder = CACHE / "time-2026.10.19"
    python = str(folder / "bin" / "python")
    return installed(
        folder.name,
        "bin/mcp-server-time",
        ([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), TIME], 10),
        ([sys.executable, "-m", "venv", str(folder)], 30),
        ([python, "-m", "pip", "install", "-q", TIME], 60),
    )


def test_the_everything_server(bench: Bench, everything: Path) -> None:
    bench.servers["everything"] = {"command": str(everything), "env": {"BENCH": str(bench.root)}}
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

    bench.run(work)


def test_the_time_server(bench: Bench, time_server: Path) -> None:
    bench.servers["time"] = {"command": str(time_server), "env": {"BENCH": str(bench.root)}}

    async def work(servers: Servers) -> None:
        assert {tool.name for tool in await servers.tools("time")} >= {"get_current_time", "convert_time"}
        answer = await servers.call("time", "get_current_time", {"timezone": "Europe/Vienna"}, key="k")
        assert "Europe/Vienna" in answer.text

    bench.run(work)
