"""Several commands on one home at once: one wins or all are done, and nothing is torn."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conftest import EXAMPLE, SALES, Colleague, Said, tree


def at_once(colleague: Colleague, *commands: tuple[str, ...]) -> list[Said]:
    with ThreadPoolExecutor(len(commands)) as pool:
        return list(pool.map(lambda arguments: colleague(*arguments), commands))


def test_installed_twice_at_once(colleague: Colleague) -> None:
    said = at_once(colleague, *[("expert", "install", str(EXAMPLE))] * 4)
    assert sorted(each.code for each in said) == [0, 1, 1, 1]
    assert all("already installed" in each.err for each in said if each.code)
    assert tree(colleague.expert()) == tree(EXAMPLE)


def test_bindings_made_at_once_all_count(installed: Colleague) -> None:
    tools = ("crm", "email", "calendar")
    said = at_once(installed, *[("expert", "bind", SALES, tool, f"{tool}-mcp") for tool in tools])
    assert [each.code for each in said] == [0, 0, 0]
    bound = installed.ok("expert", "list", "--json").json[0]["tools"]
    assert bound == {tool: f"{tool}-mcp" for tool in tools}


def test_many_experts_installed_at_once_are_all_on_record(colleague: Colleague) -> None:
    names = [f"expert-{number}" for number in range(6)]
    commands = [("expert", "install", str(EXAMPLE), "--name", name) for name in names]
    said = at_once(colleague, *commands)
    assert {each.code for each in said} <= {0, 3}, said
    for command in [command for command, each in zip(commands, said, strict=True) if each.code == 3]:
        colleague.ok(*command)  # the others took longer than one waits for the lock
    records = json.loads((colleague.home / "state" / "experts.json").read_text())["experts"]
    assert sorted(records) == names
    catalogue = (colleague.home / "workspace" / "EXPERTS.md").read_text()
    assert all(f"## {name}\n" in catalogue for name in names)


def test_a_held_lock_is_waited_for_then_named(colleague: Colleague, tmp_path: Path) -> None:
    lock = colleague.home / "state" / "experts.lock"
    holder = (
        "import pathlib, sys, time\n"
        "from colleague.files import locked\n"
        f"with locked(pathlib.Path({str(lock)!r})):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", holder], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        said = colleague("expert", "install", str(EXAMPLE))
        process.kill()
    assert said.code == 3
    assert f"pid {process.pid}" in said.err
    colleague.ok("expert", "install", str(EXAMPLE))
