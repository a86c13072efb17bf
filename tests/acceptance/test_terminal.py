"""The words of others are shown to a person; a terminal does not act on them."""

from __future__ import annotations

import json
import re

import pytest

from tests.conftest import Colleague
from tests.screen import on_a_terminal

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[8mhidden\x9b1A\u202egnp.exe\r over\x7f"
OURS = re.compile(r"\x1b\[(?:[012]|3[123])m|\x1b\[\?25[hl]|\x1b\[2K|\x1b\[1A")
"""Colours of ticks and crosses, and what a progress line does with the cursor."""


@pytest.fixture
def hostile(colleague: Colleague) -> Colleague:
    """One run, whose model said what it should not."""
    colleague.ok("init")
    play = colleague.home / "play.yaml"
    play.write_text(json.dumps({"replies": [{"when": "/./", "text": f"Fine.\r\n{HOSTILE}"}]}))
    colleague.ok("agent", HOSTILE, "--model", f"script/{play}")
    return colleague


def commands(colleague: Colleague) -> list[list[str]]:
    [run] = colleague.ok("run", "list", "--json").json
    return [
        ["run", "list"],
        ["run", "show", run["id"]],
        ["run", "show", run["id"], "--json"],
        ["run", "watch", run["id"]],
        ["session", "show"],
        ["session", "list"],
        ["status"],
        ["status", "--json"],
    ]


def test_no_command_lets_the_terminal_act(hostile: Colleague) -> None:
    told = 0
    for command in commands(hostile):
        shown = OURS.sub("", on_a_terminal(hostile, *command))
        left = [
            each for each in shown.replace("\r\n", "\n") if not each.isprintable() and each not in "\n\t\r"
        ]
        assert left == [], f"{command}: {left}"
        told += "\\u001b]0;owned\\u0007" in shown and "\\u000d over" in shown
    assert told >= 2, "the words themselves are shown"


def test_a_program_gets_what_there_is(hostile: Colleague) -> None:
    [run] = hostile.ok("run", "list", "--json").json
    assert HOSTILE in hostile.ok("run", "show", run["id"], "--json").json["narrative"]


def test_the_answer_is_streamed_without_harm(hostile: Colleague) -> None:
    shown = on_a_terminal(hostile, "agent", "again", "--model", f"script/{hostile.home}/play.yaml")
    assert "\x1b]0;" not in shown
    assert "\\u001b]0;owned\\u0007" in shown


def test_a_command_that_starts_slowly_says_so_first(hostile: Colleague) -> None:
    """Without a gateway the store is imported before there is a run to name."""
    shown = on_a_terminal(hostile, "agent", "again", "--model", f"script/{hostile.home}/play.yaml")
    assert re.search(r"[|/\\-] starting, 0 s", shown.partition("run ")[0])
