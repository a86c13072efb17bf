"""Which files of a workspace stand in a prompt, and how much of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from colleague.agent.prompt import bootstrap_files as bootstrap
from colleague.agent.prompt.bootstrap_budget import BootstrapBudget, ShownFile, within_budget
from colleague.agent.prompt.bootstrap_files import BOOTSTRAP, EXPERTS, SUBAGENT, bootstrap_files
from colleague.agent.prompt.text_file import TextFile, read_text_file
from colleague.file_cache import SETTLED_NS, FileCache

USUAL = BootstrapBudget(12_000, 60_000)


def shown(
    workspace: Path,
    budget: BootstrapBudget = USUAL,
    extra: Sequence[str] = (),
    names: Sequence[str] = (*BOOTSTRAP, EXPERTS),
) -> dict[str, ShownFile]:
    found = within_budget(bootstrap_files(workspace, extra, names=names), budget)
    return {each.name: each for each in found}


def write(workspace: Path, **lengths: int) -> None:
    for name, length in lengths.items():
        (workspace / f"{name}.md").write_text(name[0] * length)


def test_all_eight_and_the_experts_in_their_order(tmp_path: Path) -> None:
    write(tmp_path, **{Path(name).stem: 10 for name in (*BOOTSTRAP, EXPERTS)})
    found = shown(tmp_path)
    assert list(found) == [
        *("AGENTS.md", "TOOLS.md", "SOUL.md", "IDENTITY.md", "USER.md", "MEMORY.md", "BOOTSTRAP.md"),
        *("HEARTBEAT.md", "EXPERTS.md"),
    ]
    assert {each.status for each in found.values()} == {"whole"}


def test_a_file_over_its_limit_keeps_beginning_and_end(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(1, 5001)]
    text = "\n".join(lines)
    (tmp_path / "AGENTS.md").write_text(text)
    found = shown(tmp_path)["AGENTS.md"]
    assert found.status == "cut"
    head, marker, tail = found.text[:8400], found.text[8401:-2401], found.text[-2400:]
    assert (head, tail) == (text[:8400], text[-2400:])
    left_out = len(text) - 8400 - 2400
    line = text[:8400].count("\n") + 1
    assert marker == (
        f"[... {left_out:,} of {len(text):,} characters are left out here; "
        f'read(path="AGENTS.md", offset={line}) shows it ...]'
    )
    assert found.problem == (
        f"AGENTS.md is cut in the prompt: it has {len(text):,} characters, and 12,000 is the limit"
    )


def test_the_limit_of_all_cuts_the_later_ones_and_drops_the_last(tmp_path: Path) -> None:
    write(tmp_path, AGENTS=4000, TOOLS=4000, SOUL=4000, IDENTITY=300)
    found = shown(tmp_path, BootstrapBudget(12_000, 10_000))
    told = {name: each.status for name, each in found.items() if each.status != "missing"}
    assert told == {"AGENTS.md": "whole", "TOOLS.md": "whole", "SOUL.md": "cut", "IDENTITY.md": "dropped"}
    assert sum(len(each.text) for each in found.values()) <= 10_000
    assert found["IDENTITY.md"].problem == (
        "IDENTITY.md is left out of the prompt: all files together are longer than 10,000 characters"
    )


def test_many_long_files_stay_within_the_limit_of_all(tmp_path: Path) -> None:
    write(tmp_path, **{Path(name).stem: 20_000 for name in (*BOOTSTRAP, EXPERTS)})
    found = shown(tmp_path)
    assert 50_000 < sum(len(each.text) for each in found.values()) <= 60_000
    assert found["AGENTS.md"].status == "cut"
    assert found["EXPERTS.md"].status == "dropped"


def test_ten_megabytes_are_cut_like_any_long_file(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("first\n" + "x" * 10_000_000 + "\nlast")
    found = shown(tmp_path)["AGENTS.md"]
    assert found.text.startswith("first\nxx")
    assert found.text.endswith("xx\nlast")
    assert len(found.text) < 12_000
    assert "about 9,989,211 of 10,000,011 characters are left out here" in found.text


def test_a_small_limit_still_shows_something(tmp_path: Path) -> None:
    write(tmp_path, AGENTS=500)
    assert shown(tmp_path, BootstrapBudget(100, 60_000))["AGENTS.md"].text.startswith(
        "A" * 70 + "\n[... 410 of 500"
    )


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").mkdir()
    (tmp_path / "SOUL.md").write_bytes("Be kind.".encode("utf-16"))
    os.mkfifo(tmp_path / "USER.md")
    found = shown(tmp_path)
    assert (found["AGENTS.md"].status, found["AGENTS.md"].problem) == (
        "unreadable",
        "AGENTS.md in the workspace is not as it should be: it is a folder",
    )
    assert (found["SOUL.md"].status, found["SOUL.md"].text) == ("whole", "Be kind.")
    assert found["SOUL.md"].problem.endswith("it is UTF-16; save it as UTF-8")
    assert found["USER.md"].problem.endswith("it is a pipe")


def test_a_checklist_of_comments_is_empty(tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").write_text("# Checks\n\n<!-- one line\neach -->\n")
    assert shown(tmp_path)["HEARTBEAT.md"].status == "empty"
    (tmp_path / "HEARTBEAT.md").write_text("# Checks\n\n- approvals\n")
    assert shown(tmp_path)["HEARTBEAT.md"].status == "whole"


@pytest.mark.parametrize("name", ["MEMORY.md", "EXPERTS.md"])
def test_notes_are_no_links(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("canary")
    (tmp_path / name).symlink_to(tmp_path / "secret")
    assert (shown(tmp_path)[name].text, shown(tmp_path)[name].status) == ("", "unreadable")


class TestExtraFiles:
    def test_paths_and_stars(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            (tmp_path / "parts" / name).mkdir(parents=True)
            (tmp_path / "parts" / name / "AGENTS.md").write_text(f"about {name}")
        write(tmp_path, EXPERTS=10)
        found = shown(tmp_path, extra=["parts/*/AGENTS.md", "docs/TOOLS.md"])
        told = {name: each.text for name, each in found.items() if each.status != "missing"}
        assert list(told.items())[:2] == [("parts/a/AGENTS.md", "about a"), ("parts/b/AGENTS.md", "about b")]
        assert list(found)[-1] == "EXPERTS.md"
        assert found["docs/TOOLS.md"].status == "missing"

    @pytest.mark.parametrize(
        ("pattern", "why"),
        [
            ("docs/notes.md", "only files with these names can be added: AGENTS.md, "),
            ("docs/*.md", "only files with these names can be added"),
            ("docs/EXPERTS.md", "only files with these names can be added"),
            ("../AGENTS.md", "it takes paths below the workspace"),
            ("/etc/AGENTS.md", "it takes paths below the workspace"),
            ("**/AGENTS.md", "it takes paths below the workspace, without .. and without **"),
            ("out/AGENTS.md", "it leads out of the workspace"),
        ],
    )
    def test_what_cannot_be_added(self, tmp_path: Path, pattern: str, why: str) -> None:
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        (tmp_path / "AGENTS.md").write_text("canary")
        (workspace / "out").symlink_to(tmp_path)
        found = shown(workspace, extra=[pattern])[pattern]
        assert (found.status, found.text) == ("refused", "")
        assert found.problem.startswith(f"bootstrap-extra-files: {pattern} is left out: {why}")

    def test_sub_agents_get_only_their_five_names(self, tmp_path: Path) -> None:
        (tmp_path / "part").mkdir()
        for name in ("AGENTS.md", "MEMORY.md"):
            (tmp_path / "part" / name).write_text("text")
        found = shown(tmp_path, extra=["part/AGENTS.md", "part/MEMORY.md"], names=SUBAGENT)
        assert [each.name for each in found.values() if each.text] == ["part/AGENTS.md"]


def test_a_file_is_read_again_only_when_it_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def reading(file: Path) -> TextFile | None:
        read.append(file.name)
        return read_text_file(file)

    monkeypatch.setattr(bootstrap, "_read", FileCache(reading))
    monkeypatch.setattr("time.time_ns", lambda: 2**62 + SETTLED_NS)
    write(tmp_path, AGENTS=10)
    assert shown(tmp_path, names=["AGENTS.md"])["AGENTS.md"].text == "A" * 10
    shown(tmp_path, names=["AGENTS.md"])
    assert read == ["AGENTS.md"]
    (tmp_path / "new").write_text("B" * 10)
    os.utime(tmp_path / "new", ns=(1, (tmp_path / "AGENTS.md").stat().st_mtime_ns))
    (tmp_path / "new").replace(tmp_path / "AGENTS.md")
    assert shown(tmp_path, names=["AGENTS.md"])["AGENTS.md"].text == "B" * 10
    assert read == ["AGENTS.md", "AGENTS.md"]
