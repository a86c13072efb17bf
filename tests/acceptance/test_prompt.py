"""colleague prompt, as a person uses it, also where files of the workspace are not what they should be."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from tests.acceptance.held_model import held_model
from tests.acceptance.test_stopped_text import configure
from tests.acceptance.test_with_gateway import serving
from tests.conftest import Colleague
from tests.typist import typing


@pytest.fixture
def fresh(colleague: Colleague) -> Colleague:
    colleague.ok("init")
    return colleague


def spoil(workspace: Path) -> None:
    """Everything that a person can put where a text should be."""
    (workspace / "AGENTS.md").write_text("first\n" + "x" * 10_000_000 + "\nlast")
    (workspace / "SOUL.md").write_bytes("Be kind.".encode("utf-16"))
    for name in ("USER.md", "TOOLS.md", "IDENTITY.md", "MEMORY.md"):
        (workspace / name).unlink()
    (workspace / "USER.md").mkdir()
    os.mkfifo(workspace / "TOOLS.md")
    os.mkfifo(workspace / "MEMORY.md")
    here = Path.cwd()
    os.chdir(workspace)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("IDENTITY.md")
    os.chdir(here)


def test_the_prompt_of_a_fresh_home(fresh: Colleague) -> None:
    whole = fresh.ok("prompt")
    assert len(whole.out) < 8_000
    assert whole.out.startswith("You are a personal assistant running inside Colleague.\n\n## Tooling\n")
    titles = [line for line in whole.out.splitlines() if line.startswith("## ")]
    assert titles[-2:] == ["## Current Date and Time", "## Runtime"]
    assert whole.err == ""
    assert (
        fresh.ok("prompt", "--mode", "none").out == "You are a personal assistant running inside Colleague.\n"
    )
    minimal = fresh.ok("prompt", "--mode", "minimal").out
    assert "## USER.md" in minimal
    assert not any(word in minimal for word in ("MEMORY.md\n", "## BOOTSTRAP.md", "## Memory", "## Commands"))


def test_sizes_and_json(fresh: Colleague) -> None:
    sizes = fresh.ok("prompt", "--sizes").out
    assert "  project context\n" in sizes
    assert "  AGENTS.md\n" in sizes
    found = json.loads(fresh.ok("prompt", "--json").out)
    assert (found["session"], found["mode"], found["chars"]) == (
        "agent:main:main",
        "full",
        len(found["prompt"]),
    )
    assert sum(each["chars"] + 2 for each in found["sections"]) - 2 == found["chars"]
    assert "prompt" not in json.loads(fresh.ok("prompt", "--json", "--sizes").out)


def test_the_gateway_says_the_same(fresh: Colleague) -> None:
    def told() -> dict[str, object]:
        found = json.loads(fresh.ok("prompt", "--json").out)
        return {name: value for name, value in found.items() if name not in ("generated_at", "prompt")}

    before = told()
    with serving(fresh):
        assert told() == before


@pytest.mark.parametrize("reasoning", ["off", "on"])
def test_the_model_is_told_what_is_shown(colleague: Colleague, reasoning: str) -> None:
    """Also to write its reasoning down, where it has none of its own."""
    with held_model() as model:
        configure(colleague, model, reasoning=False)
        colleague.ok("session", "set", "main", "--reasoning", reasoning)
        shown = colleague.ok("prompt").out
        with typing(colleague, "agent", "hi") as person:
            model.say(0, "<think>Well.</think><final>Hello.</final>")
            assert person.end() == 0
        told = model.requests[0]["messages"][0]["content"]
    before_the_time = [text.split("## Current Date and Time")[0].rstrip() for text in (shown, told)]
    assert before_the_time[0] == before_the_time[1]
    assert ("<think>" in shown) == (reasoning == "on")


def test_what_cannot_be_shown(fresh: Colleague) -> None:
    missing = fresh("prompt", "--session", "telegram:dm:1")
    assert (missing.code, missing.out) == (1, "")
    assert "there is no session 'telegram:dm:1'" in missing.err
    assert fresh("prompt", "--mode", "short").code == 2


def test_spoiled_files_are_sentences(fresh: Colleague) -> None:
    spoil(fresh.home / "workspace")
    problems = [
        "AGENTS.md is cut in the prompt: it has 10,000,011 characters, and 12,000 is the limit",
        "TOOLS.md in the workspace is not as it should be: it is a pipe",
        "SOUL.md in the workspace is not as it should be: it is UTF-16; save it as UTF-8",
        "IDENTITY.md in the workspace is not as it should be: it is a socket",
        "USER.md in the workspace is not as it should be: it is a folder",
        "MEMORY.md in the workspace is not as it should be: it is a pipe",
    ]
    said = fresh.ok("prompt")
    assert said.err == "".join(f"warning: {each}\n" for each in problems)
    assert "Be kind." in said.out
    assert "about 9,989,211 of 10,000,011 characters are left out here; " in said.out
    assert len(said.out) < 20_000
    doctor = fresh("doctor").out
    assert all(f"! prompt: {each}" in doctor for each in problems)


def test_a_turn_with_spoiled_files_is_answered(fresh: Colleague) -> None:
    spoil(fresh.home / "workspace")
    (fresh.home / "play.yaml").write_text('replies: [{text: "Here."}]')
    assert fresh.ok("agent", "Hello.", "--model", "script/play.yaml").out == "Here.\n"
    report = json.loads(fresh.ok("session", "show", "main", "--json").out)["system_prompt_report"]
    assert [each["problem"] for each in report["files"] if each["status"] == "unreadable"]
