"""colleague serve as a process: killed, stopped, started twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.forked import forked_command
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import BEARER, ENVIRON, HOOK_BEARER, House


@dataclass
class Process:
    """One `colleague serve`, and a caller."""

    child: subprocess.Popen[str]
    url: str
    line: str

    def get(self, path: str) -> Any:
        return httpx2.get(f"{self.url}{path}", headers=BEARER, timeout=120).json()

    def hook(self, trigger: str, document: Any) -> httpx2.Response:
        url = f"{self.url}/hooks/{CLERK}/{trigger}"
        return httpx2.post(url, json=document, headers=HOOK_BEARER, timeout=120)

    def ended(self, run_id: str) -> dict[str, Any]:
        return self.until(run_id, "done")

    def until(self, run_id: str, status: str) -> dict[str, Any]:
        for _ in range(2400):
            run: dict[str, Any] = self.get(f"/api/runs/{run_id}")
            if run["status"] == status:
                return run
            time.sleep(0.05)
        raise AssertionError(f"run {run_id} was never {status}: {run}")

    def end(self, number: int = signal.SIGTERM, within: float = 120) -> int:
        self.child.send_signal(number)
        return self.child.wait(within)


def start(house: House, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        forked_command(
            "-m", "colleague", *(arguments or ("serve", "--port", "0")), "--home", str(house.root)
        ),
        env=ENVIRON | {"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(house: House) -> Iterator[Process]:
    child = start(house)
    try:
        assert child.stdout is not None
        line = child.stdout.readline()
        assert line.startswith("Colleague listens on http://"), child.stderr and child.stderr.read()
        yield Process(child, line.split()[3].rstrip(";"), line)
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        child.communicate()


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "home").furnish()


def test_it_says_where_it_listens_and_for_whom(house: House) -> None:
    with serving(house) as process:
        assert f"enabled experts: {CLERK}" in process.line
        hint = json.loads((house.home.state / "gateway.json").read_text())
        assert process.url == f"http://{hint['address']}:{hint['port']}"
        os.kill(hint["pid"], 0)
        assert process.end() == 0
        assert not (house.home.state / "gateway.json").exists()


def test_what_was_answered_survives_a_kill(house: House) -> None:
    house.play({"text": "done", "delay": 0.2})
    with serving(house) as process:
        told = [process.hook("order", {"id": f"k-{number}"}).json() for number in range(10)]
        process.child.kill()
        process.child.wait(120)
    assert (house.home.state / "gateway.json").exists()
    with serving(house) as process:
        for each in told:
            assert process.ended(each["run_id"])["outcome"] == "completed"
        again = process.hook("order", {"id": "k-3"})
        assert (again.status_code, again.json()["event_id"]) == (200, told[3]["event_id"])
        assert len(process.get("/api/runs")) == 10


def test_a_stop_lets_what_is_under_way_end(house: House) -> None:
    house.play({"text": "done", "delay": 1.5})
    with serving(house) as process:
        run_id = process.hook("order", {"id": "drain"}).json()["run_id"]
        process.until(run_id, "running")
        assert process.end() == 0
    house.play({"text": "never said"})
    with serving(house) as process:
        run = process.get(f"/api/runs/{run_id}")
        assert (run["outcome"], run["narrative"]) == ("completed", "done")


def test_a_stop_gives_the_rest_back(house: House) -> None:
    house.play({"text": "never said", "delay": 120})
    with serving(house) as process:
        run_id = process.hook("order", {"id": "long"}).json()["run_id"]
        waiting = process.hook("in_turn", {"id": "a"}).json()["run_id"]
        process.until(run_id, "running")
        began = time.monotonic()
        assert process.end() == 0
        assert time.monotonic() - began < 100
    house.play({"text": "said at last"})
    with serving(house) as process:
        for each in (run_id, waiting):
            run = process.ended(each)
            assert (run["outcome"], run["narrative"], len(run["attempts"])) == (
                "completed",
                "said at last",
                1,
            )


def test_a_second_signal_ends_at_once(house: House) -> None:
    house.play({"text": "never said", "delay": 120})
    with serving(house) as process:
        process.until(process.hook("order", {"id": "long"}).json()["run_id"], "running")
        process.child.send_signal(signal.SIGINT)
        while "stopping: nothing new is taken" not in (house.home.logs / "colleague.jsonl").read_text():
            time.sleep(0.05)
        began = time.monotonic()
        assert process.end(signal.SIGINT) == 1
        assert time.monotonic() - began < 9  # it would have ten to end by itself
    with sqlite3.connect(house.root / "state" / "colleague.sqlite") as database:
        [held] = database.execute("SELECT status, stalls FROM runs").fetchall()
    assert held == ("queued", 0), "an interruption is no crash of the run"


def test_a_second_start_is_told_of_the_first(house: House) -> None:
    with serving(house) as process:
        second = start(house)
        _, told = second.communicate(timeout=120)
        assert second.returncode == 3
        assert f"pid {json.loads((house.root / 'state' / 'gateway.json').read_text())['pid']}" in told
        assert process.url in told
        assert "Traceback" not in told


def test_a_worker_of_its_own_needs_a_database_that_is_shared(house: House) -> None:
    child = start(house, "worker")
    _, told = child.communicate(timeout=120)
    assert child.returncode == 2
    assert "postgresql" in told


def modules_after(code: str) -> set[str]:
    told = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(told.stdout.split())


def test_an_idle_gateway_has_loaded_no_model_library() -> None:
    loaded = modules_after("import colleague.gateway.serve")
    assert "fastapi" in loaded
    assert not loaded & {"pydantic_ai", "mcp", "anthropic", "openai", "rich"}


def test_the_command_alone_loads_no_server() -> None:
    loaded = modules_after("import colleague.cli.serve, colleague.runtime.gateway_file")
    assert not loaded & {"fastapi", "starlette", "uvicorn", "pydantic"}
