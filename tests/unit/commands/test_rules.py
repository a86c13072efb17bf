"""Which commands run, ask or are refused: by the program that would run, never by the text of a line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.commands.allowlist import ProgramFinder, fits, is_allowed
from colleague.agent.commands.command_line import plain_words
from colleague.agent.commands.exec_rules import ExecRules
from colleague.config.agent_tools import AllowedCommand, ExecTool


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("git status", ["git", "status"]),
        ("  git   log  --oneline ", ["git", "log", "--oneline"]),
        ("grep 'a b' x.txt", ["grep", "a b", "x.txt"]),
        ('grep "a; rm b" x', ["grep", "a; rm b", "x"]),
        ("git commit -m'one two'", ["git", "commit", "-mone two"]),
        ("echo ''", ["echo", ""]),
        ("/usr/bin/git --version", ["/usr/bin/git", "--version"]),
    ],
)
def test_a_line_without_shell_syntax_is_its_words(line: str, words: list[str]) -> None:
    assert plain_words(line) == words


@pytest.mark.parametrize(
    "line",
    [
        *("git status; rm -rf x", "git status && rm x", "git status | sh", "git status & rm x"),
        *("git $(rm x)", "git `rm x`", "git $HOME", 'git "$HOME"', 'git "`rm x`"', "git > x", "git < x"),
        *("git *", "git ?", "git [a]", "git ~", "git {a,b}", "git status\nrm x", "git \\x", "! git", "(git)"),
        *(
            "GIT_PAGER=evil git log",
            "x+=1 git",
            "# git",
            "git 'open",
            'git "a\\b"',
            'git "!x"',
            ". x",
            "cd /",
        ),
        *("exec git", "eval git", "", "   ", "''", "git status\r", "git\0", "git\xa0status"),
    ],
)
def test_any_other_line_is_none(line: str) -> None:
    assert plain_words(line) is None


@pytest.mark.parametrize(
    ("arguments", "patterns", "fitting"),
    [
        (["a", "b"], None, True),
        ([], [], True),
        (["a"], [], False),
        (["status"], ["status"], True),
        (["status", "-s"], ["status"], False),
        (["status", "-s"], ["status", "**"], True),
        (["status"], ["status", "**"], True),
        ([], ["status", "**"], False),
        (["push", "-s"], ["status", "**"], False),
        (["--n=3"], ["--n=*"], True),
    ],
)
def test_patterns_of_arguments(arguments: list[str], patterns: list[str] | None, fitting: bool) -> None:
    assert fits(arguments, patterns) is fitting


def program(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def finder(tmp_path: Path) -> ProgramFinder:
    program(tmp_path / "bin/tool")
    (tmp_path / "bin/other").symlink_to("tool")
    program(tmp_path / "workspace/tool")
    return ProgramFinder(f"{tmp_path}/bin", tmp_path / "workspace")


TOOL = [AllowedCommand(program="tool", args=("show", "**"))]


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["tool", "show", "x"], True),
        (["{bin}/tool", "show"], True),
        (["tool", "delete"], False),
        (["./tool", "show"], False),
        (["other", "show"], False),  # the same file by another name may be another program
        (["missing", "show"], False),
    ],
)
def test_the_program_that_would_run_counts(
    finder: ProgramFinder, tmp_path: Path, words: list[str], allowed: bool
) -> None:
    words = [each.format(bin=tmp_path / "bin") for each in words]
    assert is_allowed(words, tmp_path / "workspace", TOOL, finder) is allowed


def test_a_program_of_the_agents_own_is_never_meant(tmp_path: Path, finder: ProgramFinder) -> None:
    """Not even when PATH leads to it first."""
    first = ProgramFinder(f"{finder.workspace}{os.pathsep}{finder.path}", finder.workspace)
    assert not is_allowed(["tool", "show"], tmp_path, TOOL, first)
    relative = ProgramFinder(f".{os.pathsep}{finder.path}", finder.workspace)
    assert is_allowed(["tool", "show"], finder.workspace, TOOL, relative)


HIT, MISS = {"command": "tool show x"}, {"command": "tool show x; rm y"}


@pytest.mark.parametrize(
    ("security", "ask", "hit", "miss"),
    [
        ("deny", "off", "refuse", "refuse"),
        ("deny", "always", "refuse", "refuse"),
        ("allowlist", "off", "allow", "refuse"),
        ("allowlist", "on-miss", "allow", "ask"),
        ("allowlist", "always", "ask", "ask"),
        ("full", "off", "allow", "allow"),
        ("full", "on-miss", "allow", "ask"),
        ("full", "always", "ask", "ask"),
    ],
)
def test_security_and_ask(finder: ProgramFinder, security: Any, ask: Any, hit: str, miss: str) -> None:
    rules = ExecRules(ExecTool(security=security, ask=ask, allowlist=tuple(TOOL)), finder)
    judged = [rules.judge(each, finder.workspace).kind for each in (HIT, MISS)]
    assert judged == [hit, miss]
    assert rules.judge({**HIT, "env": {"LD_PRELOAD": "x"}}, finder.workspace).kind == miss
    assert rules.judge({**HIT, "elevated": True}, finder.workspace).kind == (
        "refuse" if security == "deny" else "ask"
    )


def test_the_default_asks(finder: ProgramFinder) -> None:
    assert ExecRules(ExecTool(), finder).judge(HIT, finder.workspace).kind == "ask"
