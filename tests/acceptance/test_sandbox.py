"""A sandboxed session: its commands and file tools see one folder, and nothing else of the machine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from colleague.sandbox.bubblewrap import bubblewrap_problem
from tests.conftest import Colleague
from tests.office import calls

pytestmark = pytest.mark.skipif(
    bool(bubblewrap_problem()), reason=bubblewrap_problem() or "there is a sandbox"
)


def turn(colleague: Colleague, *made: tuple[str, dict[str, Any]], **sandbox: Any) -> list[dict[str, Any]]:
    """One turn in a session with this sandbox; its calls."""
    colleague.home.mkdir(parents=True, exist_ok=True)
    settings = {"agents": {"defaults": {"sandbox": sandbox}}, "tools": {"exec": {"ask": "off"}}}
    file = colleague.home / "colleague.json"
    file.write_text(json.dumps(settings))
    file.chmod(0o600)
    script = colleague.home / "play.yaml"
    script.write_text(json.dumps({"replies": [calls(*made), {"text": "Done."}, {"text": "So."}]}))
    colleague("session", "reset", "main")
    assert colleague("agent", "Do it.", "--model", f"script/{script}").code in (0, 4)
    run = colleague.ok("run", "list", "--limit", "1", "--json").json[0]
    done: list[dict[str, Any]] = colleague.ok("run", "show", run["id"], "--json").json["calls"]
    return done


def texts(found: list[dict[str, Any]]) -> list[str]:
    return [each["result"]["text"] for each in found]


def run(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "exec", {"command": command, **more}


ESCAPES = [
    "cat {home}/colleague.json",
    "ls {home}",
    "cat /workspace/expert-state/sales/secret.md",
    "cd / && ls root home var mnt",
    "cat link",
    "cat ../colleague.json",
    "cat /proc/1/environ | tr '\\0' '\\n' | grep KEY",
    "timeout 5 bash -c 'echo > /dev/tcp/127.0.0.1/{port}'",
    "mount -t tmpfs x /workspace",
    "unshare -r id",
    "touch /usr/bin/evil",
    "kill -9 {pid}",
    "head -c 40M /dev/zero > /workspace/big",
]


@pytest.mark.parametrize("access", ["none", "rw"])
def test_nothing_leads_out(colleague: Colleague, access: str, tmp_path: Path) -> None:
    """What a command may try to get out of its folder."""
    workspace = colleague.home / "workspace"
    secret = workspace / "expert-state/sales/secret.md"
    secret.parent.mkdir(parents=True)
    secret.write_text("a secret of others")
    (tmp_path / "outside.txt").write_text("outside")
    (workspace / "link").symlink_to(tmp_path / "outside.txt")
    port = 9
    tried = [run(each.format(home=colleague.home, port=port, pid=os.getpid())) for each in ESCAPES]
    found = turn(colleague, *tried, mode="all", workspaceAccess=access, fileMb=10)
    for line, each in zip(ESCAPES, found, strict=True):
        assert each["is_error"], (line, each["result"]["text"])
        assert "secret of others" not in each["result"]["text"]
        assert "outside" not in each["result"]["text"].replace("outside.txt", "")
    assert not Path("/usr/bin/evil").exists()


def test_a_folder_of_its_own(colleague: Colleague) -> None:
    (colleague.home / "workspace").mkdir(parents=True)
    (colleague.home / "workspace/mine.txt").write_text("mine")
    made = turn(
        colleague,
        run("pwd; ls; echo made > made.txt; ip -o link 2>/dev/null | wc -l"),
        ("read", {"path": "made.txt"}),
        ("read", {"path": "mine.txt"}),
        ("write", {"path": "notes/more.txt", "text": "more"}),
        run("cat notes/more.txt", workdir="notes/.."),
        mode="all",
    )
    assert texts(made)[0].startswith("/workspace\n")
    assert "mine.txt" not in texts(made)[0]
    assert "made" in texts(made)[1]
    assert made[2]["is_error"]
    assert texts(made)[4] == "more\n[exit code 0]"
    [folder] = (colleague.home / "state/sandboxes").iterdir()
    assert (folder / "made.txt").read_text() == "made\n"
    assert not (colleague.home / "workspace/made.txt").exists()


def test_the_workspace_to_read(colleague: Colleague) -> None:
    (colleague.home / "workspace").mkdir(parents=True)
    (colleague.home / "workspace/mine.txt").write_text("mine")
    made = turn(
        colleague,
        run("cat mine.txt"),
        run("echo x > mine.txt"),
        ("write", {"path": "new.txt", "text": "x"}),
        ("read", {"path": "mine.txt"}),
        mode="all",
        workspaceAccess="ro",
    )
    assert [each["is_error"] for each in made] == [False, True, True, False]
    assert (colleague.home / "workspace/mine.txt").read_text() == "mine"


def test_the_main_session_may_stay_outside(colleague: Colleague) -> None:
    [made] = turn(colleague, run("pwd"), mode="non-main")
    assert texts([made]) == [f"{colleague.home}/workspace\n[exit code 0]"]


def test_elevated_asks_whatever_the_settings_say(colleague: Colleague) -> None:
    [made] = turn(colleague, run("pwd", elevated=True), mode="all")
    assert made["status"] == "parked"
    [waiting] = colleague.ok("approval", "list", "--json").json
    colleague.ok("approve", waiting["id"])
    last = colleague.ok("run", "list", "--limit", "1", "--json").json[0]
    [done] = colleague.ok("run", "show", last["id"], "--json").json["calls"]
    assert done["result"]["text"] == f"{colleague.home}/workspace\n[exit code 0]"


def test_without_bubblewrap_nothing_starts(colleague: Colleague, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    colleague.home.mkdir(parents=True)
    file = colleague.home / "colleague.json"
    file.write_text(json.dumps({"agents": {"defaults": {"sandbox": {"mode": "all"}}}}))
    file.chmod(0o600)
    script = colleague.home / "play.yaml"
    script.write_text(json.dumps({"replies": [{"text": "Hello."}]}))
    said = colleague("agent", "Hello.", "--model", f"script/{script}", PATH=str(empty))
    assert said.code == 1
    assert "bubblewrap is not installed" in said.err
    assert "apt-get install bubblewrap" in said.err


def test_a_backend_that_is_not_there(colleague: Colleague) -> None:
    colleague.home.mkdir(parents=True)
    sandbox = {"mode": "all", "backend": "docker"}
    file = colleague.home / "colleague.json"
    file.write_text(json.dumps({"agents": {"defaults": {"sandbox": sandbox}}}))
    file.chmod(0o600)
    said = colleague("agent", "Hello.")
    assert said.code == 1
    assert "sandbox.backend restricts agents, and nothing enforces it yet" in said.err


def test_explain_says_what_and_why(colleague: Colleague) -> None:
    turn(colleague, run("pwd"), mode="non-main", workspaceAccess="ro")
    assert "sandbox.mode is non-main, and this is the main session" in colleague.ok("sandbox", "explain").out
    asked = "sandbox", "explain", "--session", "agent:main:telegram:dm:1"
    found = colleague.ok(*asked, "--json").json
    assert (found["sandboxed"], found["workspace_access"], found["network"]) == (True, "ro", False)
    assert found["folder"] == f"{colleague.home}/workspace"
    assert "the workspace, to read" in colleague.ok(*asked).out
    assert "bubblewrap is not installed" in colleague(*asked, PATH="/nowhere").out
