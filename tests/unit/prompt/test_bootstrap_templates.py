from __future__ import annotations

from pathlib import Path

import pytest

from colleague.agent.prompt.bootstrap_files import FIRST_CONVERSATION
from colleague.agent.prompt.bootstrap_templates import FILES, write_bootstrap_files
from colleague.experts.home_setup import set_up_home
from colleague.home import Home


def names(files: list[Path]) -> set[str]:
    return {file.name for file in files}


def test_all_of_them_are_short() -> None:
    assert sum(len(text) for text in FILES.values()) < 4_000
    assert all(len(line) <= 120 for text in FILES.values() for line in text.splitlines())


def test_a_new_workspace_gets_all_of_them(tmp_path: Path) -> None:
    assert names(write_bootstrap_files(tmp_path)) == set(FILES)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == FILES
    assert write_bootstrap_files(tmp_path) == []


def test_the_first_conversation_comes_once(tmp_path: Path) -> None:
    write_bootstrap_files(tmp_path)
    (tmp_path / FIRST_CONVERSATION).unlink()
    (tmp_path / "MEMORY.md").unlink()
    assert names(write_bootstrap_files(tmp_path)) == {"MEMORY.md"}


def test_what_a_person_has_is_never_changed(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("mine\n")
    (tmp_path / "USER.md").write_text("")
    (tmp_path / "SOUL.md").symlink_to(tmp_path / "nowhere")
    made = names(write_bootstrap_files(tmp_path))
    assert made == set(FILES) - {"AGENTS.md", "USER.md", "SOUL.md", FIRST_CONVERSATION}
    assert (tmp_path / "AGENTS.md").read_text() == "mine\n"
    assert (tmp_path / "USER.md").read_text() == ""
    assert (tmp_path / "SOUL.md").is_symlink()


@pytest.mark.parametrize("skip", [True, False])
def test_the_settings_can_leave_them_out(tmp_path: Path, skip: bool) -> None:
    home = Home(tmp_path / "home")
    home.root.mkdir()
    home.settings_file.write_text(f"{{agents: {{defaults: {{skipBootstrap: {str(skip).lower()}}}}}}}")
    set_up_home(home)
    found = {file.name for file in (home.root / "workspace").iterdir()} - {"EXPERTS.md"}
    assert found == (set() if skip else set(FILES))
