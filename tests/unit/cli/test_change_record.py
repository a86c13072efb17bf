"""Every command is known to look, to ask the service, which notes what it does, or to note it itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import typer

from colleague.cli.app import build_app
from tests.acceptance.test_audit import STORY
from tests.conftest import ROOT

READING = {"list", "show", "explain", "check", "prompt", "history", "diff", "search", "context", "logs"}
LOOKS = {
    *("status", "demo", "serve", "worker", "init", "prompt", "chat", "agent"),
    *("expert new", "expert validate", "expert rehearse", "session export-trajectory", "canvas open"),
    *("run watch", "mcp probe", "mcp serve", "model probe", "db backup"),
}
"""They change nothing of a home that is there, or begin what is stored as what somebody said."""
ASKS_THE_SERVICE = {
    *("approve", "reject", "respond", "done", "not-done", "resolve", "approval link", "grant revoke"),
    *("learning approve", "learning reject", "expert run", "trigger fire", "trigger pause", "trigger resume"),
    *("session send", "session reset", "session stop", "session compact", "session set", "canvas remove"),
    *(
        "state restore",
        "run resume",
        "run retry",
        "run fork",
        "run cancel",
        "delivery read",
        "deadletter retry",
    ),
    *("deadletter drop", "mcp accept", "model auth order", "model auth clear-cooldown"),
    *("user add", "user link", "user sign-out", "user remove"),
}
NOTES_ITSELF = {
    "expert install": "expert.install",
    "expert bind": "expert.bind",
    "expert unbind": "expert.unbind",
    "expert enable": "expert.enable",
    "expert disable": "expert.disable",
    "expert update": "expert.update",
    "expert remove": "expert.remove",
    "mcp add": "server.add",
    "mcp remove": "server.remove",
    "mcp login": "server.login",
    "mcp logout": "server.logout",
    "model add": "model.add",
    "model auth add": "auth.add",
    "model auth remove": "auth.remove",
    "plugin enable": "plugin.enable",
    "plugin disable": "plugin.disable",
    "db restore": "database.restore",
    "db new": "database.new",
    "sandbox prune": "sandbox.prune",
    "doctor": "permissions.close",
}
"""The action of each."""
NOT_IN_THE_STORY = {"mcp login", "mcp logout", "sandbox prune", "doctor"}


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from commands(each, (*path, name))
        else:
            yield " ".join((*path, name))


def noted_actions() -> set[str]:
    """The actions that `record_change` is called with, wherever commands call it."""
    trees = (ast.parse(file.read_text()) for file in (ROOT / "src/colleague/cli").rglob("*.py"))
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    named = (call for call in calls if getattr(call.func, "id", "") == "record_change")
    return {call.args[1].value for call in named if isinstance(call.args[1], ast.Constant)}


def test_no_command_is_forgotten() -> None:
    known = LOOKS | ASKS_THE_SERVICE | NOTES_ITSELF.keys()
    all_of_them = set(commands(typer.main.get_command(build_app())))
    unknown = {each for each in all_of_them - known if each.rpartition(" ")[2] not in READING}
    assert unknown == set(), "say here how what they change comes into the audit log"
    assert known <= all_of_them


def test_each_that_notes_its_change_does() -> None:
    assert noted_actions() == set(NOTES_ITSELF.values())
    told = {action for _, action, _, _ in STORY}
    assert {NOTES_ITSELF[each] for each in NOTES_ITSELF.keys() - NOT_IN_THE_STORY} <= told
