"""Files and folders of a home that the user may not read, as after a command that was typed with sudo."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE, ROOT, SALES, Colleague
from tests.nobody import without_rights

OWNER = "check its owner and mode, and those of the folders it lies in"


@pytest.fixture
def home(colleague: Colleague) -> Colleague:
    colleague.ok("init")
    office = {"command": sys.executable, "args": [str(ROOT / "examples" / "office" / "server.py")]}
    office["args"] += ["--database", str(colleague.home.parent / "office.sqlite")]
    settings = {
        "agents": {"defaults": {"model": "script/play.yaml"}},
        "mcp": {"servers": {"office": office}},
        "hooks": {"token": "a-token-of-all-hooks"},
    }
    (colleague.home / "colleague.json").write_text(json.dumps(settings))
    (colleague.home / "play.yaml").write_text("replies: [{when: /./, text: hello}]")
    colleague.ok("expert", "install", str(EXAMPLE))
    for tool in ("crm", "email", "calendar"):
        colleague.ok("expert", "bind", SALES, tool, "office")
    colleague.ok("expert", "enable", SALES)
    return colleague


@contextmanager
def closed(path: Path) -> Iterator[None]:
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        yield
    finally:
        path.chmod(mode)


def typed(colleague: Colleague, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = without_rights([sys.executable, "-m", "colleague", *arguments])
    environment = colleague.environment({})
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)


def served(colleague: Colleague, wanted: str) -> str:
    """What `serve` prints until `wanted` is in it."""
    command = without_rights([sys.executable, "-m", "colleague", "serve", "--port", "0"])
    environment, said = colleague.environment({}), ""
    with subprocess.Popen(command, env=environment, text=True, stdout=-1, stderr=-2) as serving:
        patience = threading.Timer(120, serving.kill)
        patience.start()
        assert serving.stdout is not None
        for line in serving.stdout:
            said += line
            if wanted in line:
                break
        patience.cancel()
        serving.terminate()
        serving.communicate(timeout=240)
    return said


def test_the_files_of_one_expert_are_in_nobody_elses_way(home: Colleague) -> None:
    files = home.home / "workspace" / "expert-state" / SALES
    with closed(files):
        assert typed(home, "agent", "hi").stdout == "hello\n"
        checks = {each["about"]: each for each in json.loads(typed(home, "doctor", "--json").stdout)}
        assert f"{files}/learnings may not be read and written" in checks[f"expert {SALES}"]["message"]
        [found] = json.loads(typed(home, "expert", "validate", SALES, "--json").stdout)["findings"][:1]
        assert (found["code"], found["hint"]) == ("state-closed", OWNER)
        said = typed(home, "expert", "run", SALES, "Hi.", "--no-wait")
        assert said.returncode == 0, said.stderr
        told = served(home, "attempt 1 failed")
        assert f"the working files of {SALES} cannot be cleaned up: " in told
        assert f"it could not be prepared: {files}/" in told
        assert f"Permission denied ({OWNER})" in told
    [run] = home.ok("run", "list", "--expert", SALES, "--json").json
    assert run["status"] == "retrying", "it is not lost"


def test_a_plugin_that_is_off_is_in_nobodys_way(home: Colleague) -> None:
    (home.home / "plugins" / "lab").mkdir(parents=True)
    with closed(home.home / "plugins" / "lab"):
        assert typed(home, "status").returncode == 0
        [found] = json.loads(typed(home, "plugin", "list", "--json").stdout)
        assert (found["name"], found["status"]) == ("lab", "broken")
        assert "Permission denied" in json.dumps(found)
        enabled = typed(home, "plugin", "enable", "lab")
        assert enabled.returncode == 2
        assert "Permission denied" in enabled.stderr


def test_copies_of_packages_that_cannot_be_removed_are_told(home: Colleague) -> None:
    with closed(home.home / "state" / "packages"):
        assert "the copies of packages cannot be cleaned up: " in served(home, "cleaned up")


def test_what_must_be_written_says_where_to_look(home: Colleague) -> None:
    file = home.home / "workspace" / "EXPERTS.md"
    with closed(file):
        refused = typed(home, "serve", "--port", "0")
    assert refused.returncode == 1
    assert refused.stderr == f"✗ Permission denied ({file})\n  {OWNER}\n"
