"""What becomes of a job when the process dies with kill -9: here, with LangGraph, and with a bare agent.

Each system gets the same job: a model calls one tool, which writes a line into a ledger, and what it says
then is delivered. The model, the ledger and the receiver are one HTTP server (killed/world.py), which kills
the program at a moment that is the same for all. Then the program is started again as its documentation says,
and the ledger is read. LangGraph is no dependency of ours; its case runs where langgraph and
langgraph-checkpoint-sqlite are installed, in this environment or in a folder that KILL_SITE names."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import httpx2
import yaml

HERE = Path(__file__).parent / "killed"
sys.path[:0] = [str(Path(__file__).parents[2])]

from tests.benchmarks.killed.world import Moment, World, open_world  # noqa: E402

PYTHON = sys.executable
TOKEN = "the-gateway-token-of-a-benchmark"  # noqa: S105
HOOKS = "the-hook-token-of-a-benchmark"
SECONDS = 120.0
SITE = os.environ.get("KILL_SITE", "")
TOOL = {
    "name": "ledger",
    "description": "Lines in a book",
    "operations": [
        {
            "name": "append",
            "description": "Write it",
            "input": {"line": "string"},
            "output": {"text": "string"},
        }
    ],
}


def wait_until(true: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {SECONDS:.0f} s until {what}")
        time.sleep(0.05)


def verdict(world: World, *, asked: bool) -> str:
    if len(world.ledger) > 1:
        return "done twice"
    if asked:
        return "a person is asked"
    return "done once" if world.ledger and world.delivered else "lost"


@dataclass(frozen=True)
class Program:
    """A program that does its job when it is started, and is started again after the kill."""

    file: str

    def __call__(self, world: World, folder: Path) -> str:
        first = self._start(world, folder)
        world.pid = first.pid
        first.wait(SECONDS)
        assert world.killed.is_set(), f"{self.file} ended before it was killed"
        assert self._start(world, folder).wait(SECONDS) == 0
        return verdict(world, asked=False)

    def _start(self, world: World, folder: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen([PYTHON, str(HERE / self.file), world.url, str(folder)])


def colleague(world: World, folder: Path) -> str:
    """A gateway takes the event by a webhook. Started again, it goes on by itself."""
    home = folder / "home"
    shutil.copytree(prepared_home(), home)
    serving = _serve(home, world)
    try:
        world.pid = serving.pid
        sent = {"Authorization": f"Bearer {HOOKS}"}
        httpx2.post(f"{_url(home)}/hooks/clerk/job", json={"id": 1}, headers=sent).raise_for_status()
        wait_until(world.killed.is_set, "the gateway was killed")
        serving.wait(SECONDS)
        serving = _serve(home, world)
        wait_until(lambda: world.delivered or _questions(home), "it went on")
        return verdict(world, asked=bool(_questions(home)))
    finally:
        serving.terminate()
        serving.wait(SECONDS)


def _serve(home: Path, world: World) -> subprocess.Popen[bytes]:
    (home / "state" / "gateway.json").unlink(missing_ok=True)
    environ = os.environ | {"OPENCLAW_STATE_DIR": str(home), "KILL_URL": world.url}
    with (home / "serve.txt").open("ab") as out:
        serving = subprocess.Popen(
            [PYTHON, "-m", "colleague", "serve", "--port", "0"], env=environ, stdout=out, stderr=out
        )
    wait_until(lambda: _answers(home) or serving.poll() is not None, "the gateway is up")
    assert serving.poll() is None, (home / "serve.txt").read_text()
    return serving


def _url(home: Path) -> str:
    found = json.loads((home / "state" / "gateway.json").read_text())
    return f"http://{found['address']}:{found['port']}"


def _answers(home: Path) -> bool:
    try:
        return httpx2.get(f"{_url(home)}/healthz").is_success
    except (OSError, ValueError, httpx2.HTTPError):
        return False


def _questions(home: Path) -> list[Any]:
    asking = {"Authorization": f"Bearer {TOKEN}"}
    found: list[Any] = httpx2.get(f"{_url(home)}/api/approvals?status=pending", headers=asking).json()
    return found


@cache
def prepared_home() -> Path:
    """An expert with one process, its tool bound to the ledger, its result going to the world's channel."""
    folder = Path(tempfile.mkdtemp(prefix="killed-"))
    home, package = folder / "home", _package(folder / "clerk")
    (home / "plugins" / "world").mkdir(parents=True)
    shutil.copy(HERE / "world_channel.py", home / "plugins" / "world" / "plugin.py")
    (home / "colleague.json").write_text(json.dumps(_settings()))
    (home / "colleague.json").chmod(0o600)
    for command in (
        ("plugin", "enable", "world"),
        ("expert", "install", str(package)),
        ("expert", "bind", "clerk", "ledger", "ledger"),
        ("expert", "enable", "clerk"),
    ):
        environ = os.environ | {"OPENCLAW_STATE_DIR": str(home), "KILL_URL": "http://127.0.0.1:1"}
        subprocess.run(
            [PYTHON, "-m", "colleague", *command], env=environ, check=True, stdout=subprocess.DEVNULL
        )
    return home


def _settings() -> dict[str, Any]:
    model = {
        "baseUrl": "${KILL_URL}/v1",
        "apiKey": "none",
        "api": "openai-completions",
        "models": [{"id": "m1"}],
    }
    server = {"command": PYTHON, "args": [str(HERE / "ledger_server.py")], "env": {"KILL_URL": "${KILL_URL}"}}
    return {
        "agents": {"defaults": {"model": {"primary": "local/m1"}}},
        "models": {"providers": {"local": model}},
        "mcp": {"servers": {"ledger": server}},
        "gateway": {"auth": {"mode": "token", "token": TOKEN}},
        "hooks": {"token": HOOKS},
    }


def _package(folder: Path) -> Path:
    job = {"name": "work", "description": "Write", "tools": ["ledger"], "delivery": {"channel": "slack"}}
    manifest = {
        "spec": "1.0",
        "name": "clerk",
        "version": "1.0.0",
        "description": "Keeps a book",
        "components": {
            "orchestrator": "orchestrator.md",
            "persona": ["persona/identity.md"],
            "functions": ["functions/judge.md"],
            "processes": ["processes/work.md"],
            "tools": ["tools/ledger.yaml"],
        },
        "requires": {"tools": ["ledger"]},
        "policy": {"approval": {"default": "auto"}},
        "triggers": [{"name": "job", "type": "webhook", "process": "work", "concurrency": "parallel"}],
    }
    judge = {"name": "judge", "description": "Judge"}
    files = {
        "expert.yaml": yaml.safe_dump(manifest),
        "README.md": "# Clerk\n",
        "orchestrator.md": "# How to Operate\n\nWork in order.\n",
        "persona/identity.md": "# Identity\n\nA clerk.\n",
        "functions/judge.md": f"---\n{yaml.safe_dump(judge)}---\n\n# Judge\n\nJudge it.\n",
        "processes/work.md": f"---\n{yaml.safe_dump(job)}---\n\n# Work\n\nWrite one line.\n",
        "tools/ledger.yaml": yaml.safe_dump(TOOL),
    }
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return folder


def systems() -> dict[str, Callable[[World, Path], str]]:
    found: dict[str, Callable[[World, Path], str]] = {"Colleague": colleague}
    if SITE or importlib.util.find_spec("langgraph"):
        found["LangGraph, AsyncSqliteSaver"] = Program("graph.py")
    return found | {"pydantic-ai Agent alone": Program("bare_agent.py")}


def main() -> None:
    competing = systems()
    width = max(map(len, competing))
    print_row("killed", list(competing), width)
    for moment in get_args(Moment):
        told = []
        for run in competing.values():
            with open_world(moment) as world, tempfile.TemporaryDirectory() as folder:
                told.append(run(world, Path(folder)))
        print_row(moment, told, width)
    if len(competing) < 3:
        print("LangGraph is not installed: pip install langgraph langgraph-checkpoint-sqlite")
    shutil.rmtree(prepared_home().parent)


def print_row(moment: str, cells: list[str], width: int) -> None:
    print(f"{moment:17}", "".join(f"{cell:{width + 2}}" for cell in cells).rstrip(), flush=True)


if __name__ == "__main__":
    main()
