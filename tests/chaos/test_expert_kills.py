"""Install, update and remove are killed at every named step; what is found afterwards is whole."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.acceptance.test_expert import replace
from tests.conftest import ROOT, SALES, Colleague, tree

INSTALL = ["staging.placed", "install.staged", "install.recorded", "install.placed", "install.state"]
UPDATE = ["staging.placed", "update.staged", "update.placed", "update.recorded", "install.state"]
REMOVE = ["remove.disabled", "remove.staged", "staging.placed", "remove.placed", "remove.forgotten"]
PURGE = ["remove.disabled", "staging.taken", "remove.placed", "remove.forgotten"]
BETWEEN = ["staging.between"]
KILLED = -9


def test_every_failpoint_of_the_loader_is_tried() -> None:
    named: set[str] = set()
    for room in ("experts", "packages"):
        for file in (ROOT / "src" / "colleague" / room).glob("*.py"):
            named.update(re.findall(r'failpoint\("([^"]+)"\)', file.read_text()))
    elsewhere = {
        "learning.archived",
        "outbox.started",
        "outbox.sent",
    }  # of runs: test_learnings, test_process_kills
    assert named - elsewhere == {*INSTALL, *UPDATE, *REMOVE, *PURGE, *BETWEEN}


def kill(colleague: Colleague, failpoint: str, *arguments: str, **environment: str) -> None:
    said = colleague(*arguments, COLLEAGUE_FAILPOINT=failpoint, **environment)
    assert said.code == KILLED, f"{failpoint} was not reached: {said}"


def no_leftovers(home: Path) -> None:
    for stage in home.rglob(".staging"):
        assert list(stage.iterdir()) == []
    assert list(home.rglob("*.new")) == []


@pytest.mark.parametrize("failpoint", INSTALL)
def test_killed_install(colleague: Colleague, package: Path, failpoint: str) -> None:
    kill(colleague, failpoint, "expert", "install", str(package))
    found = colleague.ok("expert", "list", "--json").json
    if found:
        assert tree(colleague.expert()) == tree(package)
        assert found[0]["enabled"] is False
        assert colleague.ok("expert", "validate", SALES, "--offline", "--json").json["findings"] == []
        assert "already installed" in colleague("expert", "install", str(package)).err
        colleague.ok("expert", "update", SALES)
    else:
        colleague.ok("expert", "install", str(package))
    assert tree(colleague.expert()) == tree(package)
    assert SALES in (colleague.home / "workspace" / "EXPERTS.md").read_text()
    no_leftovers(colleague.home)


def newer(installed: Colleague, package: Path) -> Path:
    """The old version kept aside, and a new one in the source."""
    installed.ok("expert", "bind", SALES, "crm", "hub")
    old = package.with_name("old")
    shutil.copytree(package, old)
    replace(package / "expert.yaml", 'version: "0.1.0"', 'version: "0.2.0"')
    (package / "persona" / "rules.md").write_text("new rules\n")
    return old


def is_whole(installed: Colleague, *versions: Path) -> None:
    found = tree(installed.expert())
    assert b"hub" in found.pop("bindings.yaml")
    assert found in [tree(version) for version in versions]


@pytest.mark.parametrize(("failpoint", "exchange"), [(name, "") for name in UPDATE] + [(BETWEEN[0], "1")])
def test_killed_update(installed: Colleague, package: Path, failpoint: str, exchange: str) -> None:
    old = newer(installed, package)
    environment = {"COLLEAGUE_NO_EXCHANGE": exchange} if exchange else {}
    kill(installed, failpoint, "expert", "update", SALES, **environment)
    assert installed.ok("expert", "list", "--json").json[0]["name"] == SALES
    is_whole(installed, old, package)
    installed.ok("expert", "update", SALES)
    is_whole(installed, package)
    record = json.loads((installed.home / "state" / "experts.json").read_text())["experts"][SALES]
    assert record["version"] == "0.2.0"
    no_leftovers(installed.home)


@pytest.mark.parametrize("failpoint", REMOVE)
def test_killed_remove(installed: Colleague, package: Path, failpoint: str) -> None:
    installed.ok("expert", "bind", SALES, "crm", "hub")
    kill(installed, failpoint, "expert", "remove", SALES)
    assert b"hub" in (installed.expert() / "bindings.yaml").read_bytes()
    if installed.ok("expert", "list", "--json").json:
        is_whole(installed, package)
        installed.ok("expert", "remove", SALES)
    installed.ok("expert", "install", str(package))
    is_whole(installed, package)
    assert installed.ok("expert", "list", "--json").json[0]["enabled"] is False
    no_leftovers(installed.home)


@pytest.mark.parametrize("failpoint", PURGE)
def test_killed_purge(installed: Colleague, package: Path, failpoint: str) -> None:
    kill(installed, failpoint, "expert", "remove", SALES, "--purge", "--yes")
    if installed.ok("expert", "list", "--json").json:
        assert tree(installed.expert()) == tree(package)
        installed.ok("expert", "remove", SALES, "--purge", "--yes")
    assert not installed.expert().exists()
    installed.ok("expert", "install", str(package))
    no_leftovers(installed.home)
