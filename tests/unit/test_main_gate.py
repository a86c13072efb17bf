"""What the main agent may change without asking."""

from __future__ import annotations

import pytest

from colleague.agent.main_gate import is_instruction

EXTRA = ("parts/*/AGENTS.md", "docs/TOOLS.md")


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md",
        "./agents.MD",
        "skills/mail/SKILL.md",
        "parts/a/AGENTS.md",
        "PARTS/b/agents.md",
        "docs/TOOLS.md",
    ],
)
def test_what_is_told_in_every_turn_instructs(path: str) -> None:
    assert is_instruction(path, EXTRA)


@pytest.mark.parametrize(
    "path",
    ["notes.md", "MEMORY.md", "parts/AGENTS.md", "parts/a/b/AGENTS.md", "docs/notes.md", "", None, "../x"],
)
def test_other_files_do_not(path: str | None) -> None:
    assert not is_instruction(path, EXTRA)


def test_without_the_setting_files_in_folders_do_not() -> None:
    assert not is_instruction("parts/a/AGENTS.md")
