"""colleague mcp list, add, remove and probe, as a person types them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import Colleague, Said
from tests.integration.mcp.support import BARE, DESK, marked


class Mcp:
    """`colleague mcp` in a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.file = home / "colleague.json"

    def __call__(self, *arguments: str, cwd: Path | None = None, **environment: str) -> Said:
        return Colleague(self.home)("mcp", *arguments, cwd=cwd, **environment)

    def write(self, servers: Mapping[str, object]) -> None:
        self.home.mkdir(exist_ok=True)
        self.file.write_text(json.dumps({"mcp": {"servers": servers}}))


@pytest.fixture
def mcp(tmp_path: Path) -> Mcp:
    return Mcp(tmp_path / "home")


def test_added_listed_and_removed(mcp: Mcp) -> None:
    mcp.home.mkdir()
    mcp.file.write_text("{\n  // my own words\n  gateway: { port: 1234 },\n}\n")
    added = mcp("add", "desk", "--env", "KEY=${DESK_KEY}", "--demo", "--", sys.executable, "-E", *BARE)
    assert (added.code, added.err) == (0, "")
    assert "Next: colleague mcp probe desk" in added.out
    assert mcp("add", "far", "--url", "https://user:pw@example.org/mcp?t=1", "--transport", "sse").code == 0
    assert "// my own words" in mcp.file.read_text()

    listed = mcp("list", "--json").json
    assert [(each["name"], each["transport"], each["demo"], each["enabled"]) for each in listed] == [
        ("desk", "stdio", True, True),
        ("far", "sse", False, True),
    ]
    assert listed[1]["where"] == "https://example.org/mcp"
    assert listed[0]["defined_in"] == str(mcp.file)
    table = mcp("list").out
    assert "NAME" in table
    assert "pw" not in table

    assert mcp("remove", "desk").code == 0
    assert mcp("remove", "far").code == 0
    assert mcp("list", "--json").json == []
    assert (
        mcp.file.read_text()
        == "{\n  // my own words\n  gateway: { port: 1234 },\n  mcp: { servers: {   } },\n}\n"
    )


def test_a_name_that_is_taken_is_refused(mcp: Mcp) -> None:
    mcp.write({"desk": {"command": "x"}})
    before = mcp.file.read_bytes()
    said = mcp("add", "desk", "--", "y")
    assert said.code == 1
    assert "desk is there already" in said.err
    assert mcp.file.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["desk"],
        ["desk", "--url", "http://x", "--", "y"],
        ["desk", "--url", "x"],
        ["a b", "--", "y"],
        ["../desk", "--", "y"],
        ["desk", "--env", "KEY", "--", "y"],
        ["desk", "--header", "K=V", "--", "y"],
        ["desk", "--transport", "sse", "--", "y"],
        ["desk", "--url", "http://x", "--transport", "carrier-pigeon"],
    ],
    ids=" ".join,
)
def test_wrong_usage(mcp: Mcp, arguments: list[str]) -> None:
    said = mcp("add", *arguments)
    assert (said.code, said.out) == (2, "")
    assert said.err
    assert not mcp.file.exists()


def test_a_secret_given_as_it_is_makes_the_file_private(mcp: Mcp) -> None:
    mcp.write({})
    mcp.file.chmod(0o644)
    said = mcp("add", "desk", "--env", "API_KEY=hush", "--", "y")
    assert "API_KEY is now in" in said.err
    assert mcp.file.stat().st_mode & 0o777 == 0o600
    assert "hush" not in said.out + said.err


def test_a_script_given_by_a_relative_path_is_found_from_anywhere(mcp: Mcp) -> None:
    script = Path(BARE[0])
    assert mcp("add", "desk", "--", sys.executable, script.name, cwd=script.parent).code == 0
    assert mcp("probe", "desk").code == 0


def test_a_server_of_openclaw_is_not_removed(mcp: Mcp) -> None:
    mcp.home.mkdir()
    (mcp.home / "openclaw.json").write_text('{ mcp: { servers: { theirs: { command: "x" } } } }')
    said = mcp("remove", "theirs")
    assert said.code == 1
    assert "openclaw.json:1:29" in said.err
    assert mcp("list", "--json").json[0]["defined_in"].endswith("openclaw.json")
    assert mcp("remove", "nobody").code == 1


def test_probe_shows_tools_with_their_marks(mcp: Mcp) -> None:
    env = {"BENCH": str(mcp.home), "LEDGER": "/dev/null"}
    mcp.write(
        {
            "desk": {"command": sys.executable, "args": DESK, "env": env},
            "bare": {"command": sys.executable, "args": BARE, "env": env},
            "off": {"command": "no-such-command", "enabled": False},
        }
    )
    said = mcp("probe")
    assert (said.code, said.err) == (0, "")
    assert "✓ desk: 9 tools in" in said.out
    assert "(stdio, desk 1.0)" in said.out
    lines = {line.split()[0]: line for line in said.out.split("✓ bare")[0].splitlines()}
    assert "  read-only  " in lines["echo"]
    assert "  idempotent  " in lines["write_ledger"]
    assert "read-only" not in lines["slow"]
    assert "✓ bare: 13 tools" in said.out
    assert "off" not in said.out
    assert marked(f"BENCH={mcp.home}") == []


def test_probe_as_json_with_one_that_fails(mcp: Mcp) -> None:
    mcp.write(
        {
            "bare": {"command": sys.executable, "args": BARE},
            "ghost": {"command": "no-such-command"},
            "far": {"url": "http://127.0.0.1:9/mcp"},
        }
    )
    said = mcp("probe", "--json")
    assert said.code == 1
    bare, ghost, far = said.json
    assert (bare["ok"], bare["transport"], bare["protocol_version"]) == (True, "stdio", "2025-06-18")
    assert bare["seconds"] > 0
    assert {"name": "echo", "read_only": False, "idempotent": False}.items() <= bare["tools"][0].items()
    assert (ghost["ok"], ghost["tools"]) == (False, [])
    assert "'no-such-command' is not found" in ghost["error"]
    assert ghost["hint"] == "install it, or correct mcp.servers.ghost.command"
    assert "nothing listens there" in far["error"]
    assert mcp("probe", "bare").code == 0
    named = mcp("probe", "ghost")
    assert named.code == 1
    assert "✗ MCP server ghost cannot start" in named.out


def test_probe_of_an_unknown_or_disabled_server(mcp: Mcp) -> None:
    mcp.write({"off": {"command": "x", "enabled": False}})
    unknown = mcp("probe", "of")
    assert unknown.code == 1
    assert "did you mean 'off'?" in unknown.err
    assert "off is disabled" in mcp("probe", "off").out
    assert mcp("probe").out.startswith("No MCP servers are configured")


def test_a_settings_file_that_does_not_load_is_said(mcp: Mcp) -> None:
    mcp.home.mkdir()
    mcp.file.write_text("{ mcp: ")
    for command in (["list"], ["add", "x", "--", "y"], ["remove", "x"], ["probe"]):
        said = mcp(*command)
        assert (said.code, said.out) == (1, "")
        assert "colleague.json:1" in said.err
    assert mcp.file.read_text() == "{ mcp: "


def test_help_is_quick_to_import() -> None:
    code = "import sys, colleague.cli.mcp; print(*{n.partition('.')[0] for n in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"mcp", "pydantic", "anyio", "httpx2"} & set(done.stdout.split())
