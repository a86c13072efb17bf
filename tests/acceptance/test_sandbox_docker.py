"""sandbox.backend docker: the command lines, what they run, and what is said where no daemon answers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Colleague
from tests.office import calls


@pytest.fixture
def docker(tmp_path: Path) -> Path:
    """The folder of a Docker that only its tests know."""
    folder = tmp_path / "docker"
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin/docker"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I {ROOT}/tests/fake_docker.py "$@"\n')
    program.chmod(0o755)
    return folder


def turn(colleague: Colleague, docker: Path, /, *made: tuple[str, dict[str, Any]], **sandbox: Any) -> Any:
    colleague.home.mkdir(parents=True, exist_ok=True)
    chosen = {"mode": "all", "backend": "docker", **sandbox}
    settings = {"agents": {"defaults": {"sandbox": chosen}}, "tools": {"exec": {"ask": "off"}}}
    file = colleague.home / "colleague.json"
    file.write_text(json.dumps(settings))
    file.chmod(0o600)
    script = colleague.home / "play.yaml"
    script.write_text(json.dumps({"replies": [calls(*made), {"text": "Done."}]}))
    return colleague("agent", "Do it.", "--model", f"script/{script}", **surroundings(docker))


def surroundings(docker: Path) -> dict[str, str]:
    path = f"{docker}/bin:{os.environ['PATH']}"
    return {"PATH": path, "DOCKER_HOST": f"fake://{docker}", "IMAGE_KEY": "key-of-the-image"}


def results(colleague: Colleague) -> list[str]:
    run = colleague.ok("run", "list", "--limit", "1", "--json").json[0]
    found = colleague.ok("run", "show", run["id"], "--json").json["calls"]
    return [each["result"]["text"] for each in found]


def asked(docker: Path, verb: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (docker / "asked.jsonl").read_text().splitlines()]
    return [each for each in lines if each["arguments"][0] == verb]


def test_commands_run_in_containers(colleague: Colleague, docker: Path) -> None:
    said = turn(
        colleague,
        docker,
        (
            "exec",
            {
                "command": "echo $HOME $OWN $DOCKER_HOST $TOKEN; echo made > made.txt",
                "env": {"DOCKER_HOST": "tcp://evil", "TOKEN": "key of the call "},
            },
        ),
        ("exec", {"command": "true", "env": {"KEY": "two\nlines"}}),
        ("read", {"path": "made.txt"}),
        memoryMb=100,
        fileMb=7,
        tmpMb=9,
        docker={"image": "mine:1", "cpus": 1.5, "env": {"OWN": "${IMAGE_KEY}"}},
    )
    assert said.code == 0, said.err
    first, refused, read = results(colleague)
    assert first == "/tmp key-of-the-image tcp://evil key of the call\n[exit code 0]"  # noqa: S108
    assert "the variable 'KEY': its value has a line break" in refused
    assert read == "made\n"
    [run] = asked(docker, "run")
    line = " ".join(run["arguments"])
    folder = colleague.home / "state/sandboxes/agent-main"
    for wanted in (
        "--network none",
        "--cap-drop ALL",
        "--security-opt no-new-privileges",
        "--read-only",
        "--memory 100m --memory-swap 100m",
        "--pids-limit 500",
        f"--ulimit fsize={7 << 20}",
        "size=9m",
        "--cpus 1.5",
        f"--user {os.getuid()}:{os.getgid()}",
        f"--mount type=bind,src={folder},dst=/workspace ",
        "--workdir /workspace",
        "--entrypoint bash mine:1 -c",
        "--env OWN ",
        "--env-file /dev/fd/",
        "--pull never",
        "--log-driver none",
        "--no-healthcheck",
    ):
        assert wanted in line, wanted
    assert "key-of-the-image" not in line
    assert "key of the call" not in line
    assert run["environment"]["DOCKER_HOST"] == f"fake://{docker}", "a call never chooses the daemon"
    assert not list(docker.glob("*.container"))


def test_the_workspace_without_what_is_others(colleague: Colleague, docker: Path) -> None:
    secret = colleague.home / "workspace/expert-state/sales/secret.md"
    secret.parent.mkdir(parents=True)
    secret.write_text("secret")
    turn(
        colleague,
        docker,
        ("exec", {"command": "ls"}),
        workspaceAccess="ro",
        network=True,
        docker={"network": "lan"},
    )
    [run] = asked(docker, "run")
    line = " ".join(run["arguments"])
    assert f"type=bind,src={colleague.home}/workspace,dst=/workspace,readonly" in line
    assert "type=tmpfs,dst=/workspace/expert-state" in line
    assert "--network lan" in line


def test_a_container_ends_with_its_command(colleague: Colleague, docker: Path) -> None:
    """Killing the client is not enough: the container is removed by name."""
    turn(colleague, docker, ("exec", {"command": "trap '' TERM; sleep 600", "timeout": 1}))
    assert "took too long" in results(colleague)[0]
    assert asked(docker, "rm")
    assert not list(docker.glob("*.container"))


def test_what_a_crash_left_is_removed(colleague: Colleague, docker: Path) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    machine = f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    for name, pid in (("dead", 2**22 - 3), ("foreign", None)):
        owner = json.dumps([pid, "1", machine if pid else "elsewhere"])
        (docker / f"{name}.container").write_text(json.dumps({"pid": 2**22 - 3, "owner": owner}))
    turn(colleague, docker, ("exec", {"command": "true"}))
    assert [each.name for each in docker.glob("*.container")] == ["foreign.container"]


@pytest.mark.parametrize(
    ("file", "words"), [("down", "no Docker daemon answers"), ("no-image", "Docker has no image")]
)
def test_without_a_daemon_nothing_starts(colleague: Colleague, docker: Path, file: str, words: str) -> None:
    (docker / file).touch()
    said = turn(colleague, docker, ("exec", {"command": "true"}))
    assert said.code == 1
    assert words in said.err
    assert "sandbox.backend" in said.err
    checked = colleague("doctor", **surroundings(docker))
    assert checked.code == 1
    assert words in checked.out
