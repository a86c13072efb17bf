"""The command line of Docker for one command of a session."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from colleague.config.sandbox import SandboxDocker
from colleague.sandbox.backend import ConfinedCommand, InsideCommand
from colleague.sandbox.docker import Docker, UnfitVariable
from colleague.sandbox.session_sandbox import SessionSandbox


def confined(folder: Path, *, settings: dict[str, Any] | None = None, **command: Any) -> ConfinedCommand:
    docker = Docker(SandboxDocker.model_validate(settings or {}), {"KEY": "of the image"}, "owner", "/home")
    given: dict[str, Any] = {"program": "/usr/bin/ls", "arguments": ["ls"], "folder": "/workspace"}
    sandbox = SessionSandbox("agent-main", folder, "none", "because")
    return docker.confine(sandbox, InsideCommand(**given | {"environment": {}} | command))


def value(made: ConfinedCommand, option: str) -> str:
    return made.arguments[list(made.arguments).index(option) + 1]


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        ("/usr/bin/python3", "python3"),
        ("/workspace/run.sh", "/workspace/run.sh"),
        ("/workspaces/run.sh", "python3"),
        ("/skills/weather/run.sh", "/skills/weather/run.sh"),
    ],
)
def test_programs_of_the_image_by_name_and_mounted_ones_by_path(
    tmp_path: Path, program: str, wanted: str
) -> None:
    mounts = [(tmp_path, "/skills/weather")]
    made = confined(tmp_path, program=program, arguments=["python3", "-V"], mounts=mounts)
    assert value(made, "--entrypoint") == wanted
    assert made.arguments[-1] == "-V"


def test_a_folder_with_a_comma_is_one_field(tmp_path: Path) -> None:
    folder = tmp_path / 'a,b "c"'
    folder.mkdir()
    [fields] = csv.reader([value(confined(folder), "--mount")])
    assert fields == ["type=bind", f"src={folder}", "dst=/workspace"]


def test_what_is_typed_never_leaves_a_container_to_itself(tmp_path: Path) -> None:
    assert "--detach-keys" in confined(tmp_path, terminal=True).arguments
    assert "--tty" not in confined(tmp_path).arguments


def test_no_value_is_on_the_command_line_and_no_name_of_a_call_in_the_clients_environment(
    tmp_path: Path,
) -> None:
    made = confined(
        tmp_path,
        settings={"env": {"OWN": "${KEY}", "TOKEN": "of the settings"}},
        environment={"TOKEN": "of the call", "LD_PRELOAD": "/evil.so", "EMPTY": "", "QUOTED": " '#=\" "},
    )
    line = " ".join(made.arguments)
    assert not [word for word in ("of the", "/evil.so", "LD_PRELOAD") if word in line]
    assert "LD_PRELOAD" not in made.environment
    assert (made.environment["OWN"], value(made, "--env")) == ("of the image", "OWN")
    assert "--env TOKEN" not in line
    lines = made.unseen.splitlines()
    assert {"TOKEN=of the call", "LD_PRELOAD=/evil.so", "EMPTY=", "QUOTED= '#=\" "} <= set(lines)


@pytest.mark.parametrize(
    ("name", "given"), [("A", "1\nB=2"), ("A", "1\r"), ("A B", ""), ("#A", ""), ("", ""), ("A", "x" * 70_000)]
)
def test_what_a_line_cannot_hold_is_refused(tmp_path: Path, name: str, given: str) -> None:
    with pytest.raises(UnfitVariable, match="Docker cannot be given the variable"):
        confined(tmp_path, environment={name: given})


@pytest.mark.parametrize("network", ["host", "container:db"])
def test_a_network_of_others_is_refused(network: str) -> None:
    docker = Docker(SandboxDocker(network=network), {}, "owner", "/home")
    assert f"sandbox.docker.network is {network}" in docker.problem()
