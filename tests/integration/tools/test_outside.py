"""`tools.fs.workspaceOnly: false`: absolute paths reach the disk, and what is fenced off stays closed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from colleague.agent.tools.fence import Fence
from colleague.agent.tools.path import PathError
from colleague.agent.tools.tree import Root, Tree
from tests.integration.tools.desk import Desk, Session

EDITS = [{"old": "north", "new": "west"}]


class OutsideDesk(Desk):
    """A desk whose tools also reach the disk, apart from the home."""

    @property
    def tree(self) -> Tree:
        roots = {"": Root(self.workspace, writable=True)}
        return Tree(roots, fence=Fence([self.home]), outside=Fence([self.closed], [self.kept]))

    @property
    def elsewhere(self) -> Path:
        return self.home.parent / "elsewhere"

    @property
    def closed(self) -> Path:
        return self.elsewhere / ".ssh"

    @property
    def kept(self) -> Path:
        return self.elsewhere / "program.py"


@pytest.fixture
def desk(tmp_path: Path) -> OutsideDesk:
    made = OutsideDesk.on_sqlite(tmp_path / "home")
    assert isinstance(made, OutsideDesk)
    (made.elsewhere / "notes").mkdir(parents=True)
    (made.elsewhere / "notes/plan.md").write_text("Go north.\n")
    made.closed.mkdir()
    (made.closed / "id").write_text("a private key")
    made.kept.write_text("print()\n")
    return made


def test_a_file_elsewhere_is_read_changed_and_kept_in_versions(desk: OutsideDesk) -> None:
    path = str(desk.elsewhere / "notes/plan.md")

    async def work(session: Session) -> str:
        read = await session.call("read", path=path)
        assert (read.text, read.source) == ("Go north.\n", f"file:{path}")
        await session.ok("edit", path=path, edits=[{"old": "north", "new": "south"}])
        return await session.ok("write", path=str(desk.elsewhere / "new/deep.md"), text="deep\n")

    assert "deep.md is written: version 1" in desk.run(work)
    assert (desk.elsewhere / "notes/plan.md").read_text() == "Go south.\n"
    assert (desk.elsewhere / "new/deep.md").read_text() == "deep\n"
    assert [each.data for each in desk.versions(path)] == [b"Go north.\n", b"Go south.\n"]


def test_a_relative_path_is_one_of_the_workspace(desk: OutsideDesk) -> None:
    assert desk.call("read", path="state/pipeline.md").text.startswith("# Pipeline")
    assert not desk.call("write", path="state/new.md", text="x").is_error
    assert (desk.workspace / "state/new.md").exists()
    assert "/" not in [entry.name for entry in desk.tree.entries("")]


def test_lists_and_searches(desk: OutsideDesk) -> None:
    there = str(desk.elsewhere)
    assert desk.call("ls", path=there).text.splitlines() == ["notes/", "program.py  8 bytes"]
    assert desk.call("find", path=there, pattern="notes/*.md").text == f"{there}/notes/plan.md"
    assert desk.call("find", path=there, pattern=f"{there}/**/*.md").text == f"{there}/notes/plan.md"
    assert (
        desk.call("grep", path=there, pattern="north|private").text == f"{there}/notes/plan.md:1: Go north."
    )
    assert "etc/" in desk.call("ls", path="/").text


def test_the_users_home(desk: OutsideDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(desk.elsewhere))
    assert desk.call("read", path="~/notes/plan.md").text == "Go north.\n"
    assert desk.call("read", path="~/.ssh/id").is_error


def test_what_is_fenced_off_stays_closed(desk: OutsideDesk) -> None:
    closed = [desk.closed / "id", desk.closed, desk.home / "state/colleague.sqlite", desk.home / "any.json"]
    for path in closed:
        found = desk.call("read", path=str(path))
        assert "none of your files" in found.text, path
        assert "none of your files" in desk.call("write", path=str(path), text="x").text, path
    assert "read only" in desk.call("write", path=str(desk.kept), text="x").text
    assert desk.kept.read_text() == "print()\n"


def test_no_way_round(desk: OutsideDesk) -> None:
    (desk.elsewhere / "link").symlink_to(desk.closed)
    os.link(desk.closed / "id", desk.elsewhere / "hard")
    for path in ("link/id", "notes/../.ssh/id", ".SSH/id", ".ssh/../.ssh/id"):
        found = desk.call("read", path=f"{desk.elsewhere}/{path}")
        assert found.is_error, path
        assert "a private key" not in found.text
    closed = Fence([desk.closed / "id"])
    tree = Tree({"": Root(desk.workspace)}, outside=closed)
    with pytest.raises(PathError, match="none of your files"):
        tree.read(f"{desk.elsewhere}/hard")


def test_a_file_of_the_workspace_has_one_name(desk: OutsideDesk) -> None:
    """Else an instruction could be changed, or a text overwritten unseen, under another one."""
    found = desk.call("write", path=str(desk.workspace / "AGENTS.md"), text="x")
    assert found.text.endswith("AGENTS.md is absolute. Here it is called AGENTS.md.")
    assert desk.call("ls", path=str(desk.workspace)).text.endswith("Here it is called ..")
    assert not (desk.workspace / "AGENTS.md").exists()


def test_a_crash_between_version_and_file_is_mended(desk: OutsideDesk) -> None:
    path = str(desk.elsewhere / "notes/plan.md")

    async def crash(session: Session) -> str:
        return await session.prepare("edit", call_id="c1", path=path, edits=EDITS)

    async def mend(session: Session) -> str:
        return (await session.recover("edit", prepared, call_id="c1", path=path, edits=EDITS)).text

    prepared = desk.run(crash)
    assert "is written" in desk.run(mend)
    assert "is written" in desk.run(mend)
    assert Path(path).read_text() == "Go west.\n"
    assert len(desk.versions(path)) == 2
