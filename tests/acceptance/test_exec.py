"""exec as a person meets it: it asks, an allowlist makes it free, a crash is told, nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Colleague, Said
from tests.office import call

DEADLINE = 180.0


def play(colleague: Colleague, *replies: dict[str, Any], **settings: Any) -> str:
    """A model that says this in the next turns, and what tools.exec is set to."""
    colleague.home.mkdir(parents=True, exist_ok=True)
    file = colleague.home / "colleague.json"
    file.write_text(json.dumps({"tools": {"exec": settings}}))
    file.chmod(0o600)
    script = colleague.home / "play.yaml"
    script.write_text(json.dumps({"replies": [*replies, {"text": "So be it."}, {"text": "So be it."}]}))
    return f"script/{script}"


def turn(colleague: Colleague, *replies: dict[str, Any], **settings: Any) -> Said:
    model = play(colleague, *replies, **settings)
    colleague("session", "reset", "main")
    return colleague("agent", "Do it.", "--model", model)


def last_calls(colleague: Colleague) -> list[dict[str, Any]]:
    run = colleague.ok("run", "list", "--limit", "1", "--json").json[0]
    calls: list[dict[str, Any]] = colleague.ok("run", "show", run["id"], "--json").json["calls"]
    return calls


def test_a_command_asks_and_runs_once_approved(colleague: Colleague) -> None:
    said = turn(colleague, call("exec", command="echo made > made.txt; cat made.txt"))
    made = colleague.home / "workspace" / "made.txt"
    assert said.code == 4
    assert "echo made > made.txt" in said.err
    assert not made.exists()
    [waiting] = colleague.ok("approval", "list", "--json").json
    colleague.ok("approve", waiting["id"])
    assert made.read_text() == "made\n"
    [done] = last_calls(colleague)
    assert (done["operation"], done["status"]) == ("exec", "finished")
    assert "made\n[exit code 0]" in done["result"]["text"]


def test_the_allowlist_is_about_programs(colleague: Colleague) -> None:
    listed = [{"program": "cat", "args": ["notes.txt"]}]
    (colleague.home / "workspace").mkdir(parents=True)
    (colleague.home / "workspace" / "notes.txt").write_text("noted")
    said = turn(colleague, call("exec", command="cat notes.txt"), allowlist=listed)
    assert said.code == 0
    [done] = last_calls(colleague)
    assert done["result"]["text"] == "noted\n[exit code 0]"
    for line in ("cat notes.txt; id", "cat notes.txt | sh", "cat /etc/passwd", "cat $(id)"):
        assert turn(colleague, call("exec", command=line), allowlist=listed).code == 4


def test_denied_it_is_not_there(colleague: Colleague) -> None:
    assert turn(colleague, call("exec", command="id"), security="deny").code == 0
    [refused] = last_calls(colleague)
    assert refused["status"] == "refused"
    assert "there is no tool 'exec'" in refused["result"]["text"]


def test_a_patch_is_applied(colleague: Colleague) -> None:
    patch = "*** Begin Patch\n*** Add File: plan/day.md\n+Mow the lawn\n*** End Patch"
    assert turn(colleague, call("apply_patch", input=patch)).code == 0
    assert (colleague.home / "workspace/plan/day.md").read_text() == "Mow the lawn\n"
    evil = patch.replace("plan/day.md", "AGENTS.md")
    assert turn(colleague, call("apply_patch", input=evil)).code == 4
    assert not (colleague.home / "workspace/AGENTS.md").exists()


def test_kill_9_leaves_no_orphan_and_a_question(colleague: Colleague, tmp_path: Path) -> None:
    mark = f"{os.getpid()}.{time.monotonic_ns() % 1_000_000}"
    command = f"echo begun > begun.txt; setsid sleep 9{mark} & sleep 9{mark}"
    model = play(colleague, call("exec", command=command), ask="off")
    begun = colleague.home / "workspace" / "begun.txt"
    program = [sys.executable, "-m", "colleague", "agent", "Do it.", "--model", model]
    environment = colleague.environment({})
    with subprocess.Popen(program, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as ours:
        wait_until(begun.exists)
        assert running(mark)
        ours.send_signal(signal.SIGKILL)
    wait_until(lambda: not running(mark))
    colleague("agent", "And now?", "--model", model)
    asked = colleague.ok("approval", "list", "--json").json
    assert [(each["kind"], each["operation"]) for each in asked] == [("uncertain", "exec")]
    assert not running(mark)


def running(mark: str) -> bool:
    return subprocess.run(["pgrep", "-f", f"sleep 9{mark}"], capture_output=True, check=False).returncode == 0


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


@pytest.mark.parametrize("word", ["off", "always"])
def test_ask(colleague: Colleague, word: str) -> None:
    listed = [{"program": "true"}]
    said = turn(colleague, call("exec", command="true"), ask=word, allowlist=listed)
    assert said.code == (0 if word == "off" else 4)
