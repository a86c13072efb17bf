"""A sandboxed session: its commands and file tools see one folder, and nothing else of the machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from colleague.config.settings import McpSandbox
from colleague.sandbox.server_sandbox import ServerSandbox
from tests.confined import needs_sandbox
from tests.conftest import ROOT, Colleague
from tests.office import SERVER, calls

pytestmark = needs_sandbox


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
    folder = colleague.home / "state/sandboxes/agent-main"
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


def test_a_variable_loads_no_code_outside(colleague: Colleague, tmp_path: Path) -> None:
    """bubblewrap itself never sees what a call puts into the environment."""
    if shutil.which("gcc") is None:
        pytest.skip("no compiler")
    (tmp_path / "evil.c").write_text(
        '#include <fcntl.h>\n__attribute__((constructor)) void f(){open("%s", O_CREAT|O_WRONLY,0600);}\n'
        % (tmp_path / "escaped")
    )
    evil = tmp_path / "evil.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", evil, tmp_path / "evil.c"], check=True)
    [made] = turn(colleague, run("printenv LD_PRELOAD", env={"LD_PRELOAD": str(evil)}), mode="all")
    assert str(evil) in texts([made])[0]
    assert not (tmp_path / "escaped").exists()


def test_a_full_folder_ends_what_fills_it(colleague: Colleague) -> None:
    fill = "for i in $(seq 1 3000); do head -c 1M /dev/zero > f$i; sleep 0.01; done; echo all"
    made = turn(colleague, run(fill), run("rm -f f*; echo freed"), mode="all", diskMb=20)
    assert "filled the folder of the sandbox to its limit" in texts(made)[0]
    assert texts(made)[1] == "freed\n[exit code 0]"


def test_the_prompt_says_it(colleague: Colleague) -> None:
    turn(colleague, run("pwd"), mode="all")
    said = colleague.ok("prompt").out
    assert "## Sandbox" in said
    assert "Commands know its folder as /workspace" in said
    assert "Your files are in the folder of your sandbox" in said
    turn(colleague, run("pwd"), mode="off")
    assert "## Sandbox" not in colleague.ok("prompt").out


def test_list_and_prune(colleague: Colleague) -> None:
    turn(colleague, run("echo made > made.txt"), mode="all", prune={"idleHours": 1, "maxAgeDays": 0})
    [found] = colleague.ok("sandbox", "list", "--json").json
    assert (found["name"], found["in_use"], found["due"], found["bytes"]) == ("agent-main", False, None, 5)
    assert "Nothing is to be removed" in colleague.ok("sandbox", "prune").out
    record = colleague.home / "state/sandboxes/agent-main.sandbox.json"
    document = json.loads(record.read_text())
    record.write_text(json.dumps({**document, "used_at": document["used_at"] - 3601}))
    assert "not used for 1 hours" in colleague.ok("sandbox", "list").out
    assert "would remove agent-main" in colleague.ok("sandbox", "prune", "--dry-run").out
    assert colleague.ok("sandbox", "prune", "--json").json["removed"] == ["agent-main"]
    assert not (colleague.home / "state/sandboxes/agent-main").exists()
    assert colleague.ok("sandbox", "list", "--json").json == []
    said = colleague("sandbox", "prune", "agent-main")
    assert said.code == 2
    assert "there is no sandbox" in said.err


def test_doctor_tries_it(colleague: Colleague) -> None:
    turn(colleague, run("pwd"), mode="all")
    assert "sandbox: bubblewrap confines" in colleague("doctor").out
    said = colleague("doctor", PATH="/nowhere")
    assert said.code == 1
    assert "bubblewrap is not installed; nothing of sandboxed sessions starts" in said.out
    assert "apt-get install bubblewrap" in said.out + said.err


def test_a_kernel_that_forbids_it_is_no_missing_package(colleague: Colleague, tmp_path: Path) -> None:
    turn(colleague, run("pwd"), mode="all")
    forbidden = tmp_path / "bin/bwrap"
    forbidden.parent.mkdir()
    forbidden.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    forbidden.chmod(0o755)
    said = colleague("doctor", PATH=f"{forbidden.parent}:/usr/bin:/bin")
    assert "bubblewrap make a sandbox: bwrap: No permissions to create new namespace" in said.out
    assert "kernel.unprivileged_userns_clone=1" in said.out + said.err
    assert "apt-get" not in said.out + said.err


def test_explain_says_what_and_why(colleague: Colleague) -> None:
    turn(colleague, run("pwd"), mode="non-main", workspaceAccess="ro")
    assert "sandbox.mode is non-main, and this is the main session" in colleague.ok("sandbox", "explain").out
    asked = "sandbox", "explain", "--session", "agent:main:telegram:dm:1"
    found = colleague.ok(*asked, "--json").json
    assert (found["sandboxed"], found["workspace_access"], found["network"]) == (True, "ro", False)
    assert found["folder"] == f"{colleague.home}/workspace"
    assert "the workspace, to read" in colleague.ok(*asked).out
    assert "bubblewrap is not installed" in colleague(*asked, PATH="/nowhere").out


def test_an_mcp_server_in_a_sandbox_of_its_own(colleague: Colleague, tmp_path: Path) -> None:
    """It sees the folders that are named, and no others."""
    read = [sys.prefix, sys.base_prefix, str(ROOT)]
    server = {"command": sys.executable, "args": [str(SERVER), "--database", "/workspace/office.sqlite"]}
    confined = {"read": read, "network": False}
    settings = {"mcp": {"servers": {"office": {**server, "sandbox": confined}}}}
    colleague.home.mkdir(parents=True)
    file = colleague.home / "colleague.json"
    file.write_text(json.dumps(settings))
    file.chmod(0o600)
    assert colleague.ok("mcp", "probe", "office").code == 0
    assert (colleague.home / "state/sandboxes/mcp-office/office.sqlite").exists()
    settings["mcp"]["servers"]["office"]["sandbox"] = {"read": [str(tmp_path / "gone")]}
    file.write_text(json.dumps(settings))
    said = colleague("mcp", "probe", "office")
    assert said.code == 1
    assert "which does not exist" in said.err + said.out


def test_what_a_confined_server_cannot_see(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    sandbox = ServerSandbox(McpSandbox(), tmp_path / "own")
    look = (
        f"cat {secret}; echo > /dev/tcp/127.0.0.1/9 && echo network; touch made; ls /proc | grep -c '^[0-9]'"
    )
    line = sandbox.wrapped(["bash", "-c", look], os.environ["PATH"], None)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert "secret" not in done.stdout.replace("secret.txt", "")
    assert "network" not in done.stdout
    assert (tmp_path / "own/made").exists()
    assert int(done.stdout.split()[-1]) < 10
