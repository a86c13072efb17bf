"""apply_patch: several files at once, all of them or none, and once whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from colleague.agent.main_gate import MainAgentGate
from colleague.agent.tool import ToolOutput, ToolRequest
from colleague.agent.tools.apply_patch import ApplyPatchTool
from colleague.agent.tools.fence import Fence
from colleague.agent.tools.tree import Root, Tree
from colleague.agent.tools.versioned import VersionedTree
from colleague.clock import MovableClock
from colleague.store.sqlite import SqliteDatabase
from colleague.store.versions import FileKey, history
from tests.conftest import tree as contents

FILES = {"a.txt": "one\ntwo\nthree\n", "sub/b.txt": "x = 1\ny = 2\nx = 1\n", "c.txt": "old\n"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / "workspace" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "workspace/closed").mkdir()
    (tmp_path / "workspace/closed/secret").write_text("secret")
    return tmp_path / "workspace"


def using(workspace: Path, work: Callable[[ApplyPatchTool], Awaitable[ToolOutput]]) -> ToolOutput:
    """Lets a new process work, as it were."""

    async def session() -> ToolOutput:
        database = SqliteDatabase(workspace.parent / "state/x.sqlite", MovableClock())
        tree = Tree({"": Root(workspace, writable=True)}, fence=Fence([workspace / "closed"]))
        files = VersionedTree(tree, database, "agent:main", workspace.parent / "locks")
        try:
            return await work(ApplyPatchTool(files, "run-1"))
        finally:
            await database.close()

    return asyncio.run(session())


def request(patch: str, call: str = "c1") -> ToolRequest:
    return ToolRequest("run-1", call, call, {"input": patch})


def body(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def apply(workspace: Path, *lines: str, call: str = "c1") -> ToolOutput:
    return using(workspace, lambda tool: tool.call(request(body(*lines), call)))


ALL = (
    *("*** Add File: new/n.txt", "+first", "+", "+last"),
    *("*** Update File: a.txt", "@@", " one", "-two", "+2", " three"),
    *("*** Update File: sub/b.txt", "*** Move to: sub/moved.txt", "@@ y = 2", "-x = 1", "+x = 3"),
    *("*** Delete File: c.txt",),
)
AFTER = {"a.txt": "one\n2\nthree\n", "new/n.txt": "first\n\nlast\n", "sub/moved.txt": "x = 1\ny = 2\nx = 3\n"}


def text_files(workspace: Path) -> dict[str, str]:
    return {
        name: data.decode() for name, data in contents(workspace).items() if not name.startswith("closed")
    }


def versions(workspace: Path, path: str) -> list[str]:
    async def read() -> list[str]:
        database = SqliteDatabase(workspace.parent / "state/x.sqlite", MovableClock())
        found = await database.read(lambda tx: history(tx, FileKey("agent:main", path)))
        await database.close()
        return [each.text for each in found[::-1]]

    return asyncio.run(read())


class TestApplied:
    def test_add_change_move_and_delete(self, workspace: Path) -> None:
        said = apply(workspace, *ALL)
        assert not said.is_error, said.text
        assert text_files(workspace) == AFTER
        assert said.text.splitlines() == [
            "new/n.txt is written: version 1",
            "a.txt is written: version 2",
            "sub/moved.txt is written: version 1",
            "sub/b.txt is deleted; its last version is kept",
            "c.txt is deleted; its last version is kept",
        ]
        assert versions(workspace, "c.txt") == ["old\n"]
        assert versions(workspace, "a.txt") == [FILES["a.txt"], AFTER["a.txt"]]

    @pytest.mark.parametrize(
        ("text", "hunk", "after"),
        [
            ("a\nb\n", ("@@", "-b", "+c"), "a\nc\n"),
            ("a\nb", ("-b", "+c"), "a\nc"),
            ("a\r\nb\r\n", ("-b", "+c", "+d"), "a\r\nc\r\nd\r\n"),
            ("a  \n  b\n", (" a", "-b", "+c"), "a  \nc\n"),
            ("", ("+c",), "c\n"),
            ("a\n", ("@@", "+b", "*** End of File"), "a\nb\n"),
            ("f:\n x\ng:\n x\n", ("@@ g:", "- x", "+ y"), "f:\n x\ng:\n y\n"),
            ("x\nx\n", ("- y".replace("- y", "-x"), "*** End of File"), "x\n"),
            ("a\nb\nc\nd\n", ("-a", "@@", "-d", "+e"), "b\nc\ne\n"),
            ("a\n\nb\n", (" a", "", "-b", "+c"), "a\n\nc\n"),
            ("a\nb\n", ("-a", "-b"), ""),
        ],
    )
    def test_changes(self, workspace: Path, text: str, hunk: tuple[str, ...], after: str) -> None:
        (workspace / "a.txt").write_bytes(text.encode())
        said = apply(workspace, "*** Update File: a.txt", *hunk)
        assert not said.is_error, said.text
        assert (workspace / "a.txt").read_bytes() == after.encode()


REFUSED = {
    "no patch": (["not a patch"], "begins with"),
    "nothing": (["*** Begin Patch", "*** End Patch"], "no file"),
    "unknown heading": (["*** Begin Patch", "*** Rename File: a", "*** End Patch"], "Rename File: a"),
    "no lines": ([body("*** Update File: a.txt", "@@", " one")], "begin with"),
    "not there": ([body("*** Update File: a.txt", "-nine", "+9")], "not in the file"),
    "twice there": (
        [body("*** Update File: sub/b.txt", "-x = 1", "+x = 2")],
        "more than one place, at lines 1, 3",
    ),
    "no such line": ([body("*** Update File: a.txt", "@@ nine", "-two", "+2")], "no line"),
    "no such file": ([body("*** Update File: z.txt", "-two", "+2")], "z.txt"),
    "exists": ([body("*** Add File: a.txt", "+x")], "exists already"),
    "moved over another": (
        [body("*** Update File: a.txt", "*** Move to: c.txt", "-two", "+2")],
        "exists already",
    ),
    "twice": ([body("*** Delete File: a.txt", "*** Update File: ./a.txt", "-two", "+2")], "twice"),
    "out": ([body("*** Add File: ../x", "+x")], ".."),
    "absolute": ([body("*** Add File: /etc/x", "+x")], "absolute"),
    "moved out": ([body("*** Update File: a.txt", "*** Move to: ../a.txt", "-two", "+2")], ".."),
    "closed": ([body("*** Delete File: closed/secret")], "none of your files"),
    "through a link": ([body("*** Add File: link/x", "+x")], "link"),
}


class TestRefused:
    @pytest.mark.parametrize("name", REFUSED)
    def test_nothing_is_changed(self, workspace: Path, name: str) -> None:
        """Also when what comes before in the patch would fit."""
        (workspace / "link").symlink_to(workspace.parent)
        before = contents(workspace.parent)
        lines, reason = REFUSED[name]
        patch = "\n".join(lines)
        good = "*** Begin Patch\n*** Add File: first.txt\n+x\n"
        for text in (patch, patch.replace("*** Begin Patch\n", good)):
            said = using(workspace, lambda tool, text=text: tool.call(request(text)))  # type: ignore[misc]
            if text == patch or name != "nothing":
                assert said.is_error
                assert reason in said.text
                after = contents(workspace.parent)
                assert {key: after[key] for key in before} == before
                assert not (workspace / "first.txt").exists()

    @pytest.mark.parametrize(
        "lines",
        [
            ("*** Add File: AGENTS.md", "+x"),
            ("*** Update File: notes.md", "*** Move to: skills/x/SKILL.md", "-x", "+y"),
            ("*** Add File: ok.md", "+x", "*** Delete File: ./Soul.md"),
        ],
    )
    def test_instructions_ask(self, lines: tuple[str, ...]) -> None:
        gate, spec = MainAgentGate(), ApplyPatchTool.spec
        assert gate.judge(spec, {"input": body(*lines)}).kind == "ask"
        assert gate.judge(spec, {"input": body("*** Add File: notes.md", "+x")}).kind == "allow"


class TestAfterACrash:
    @pytest.mark.parametrize("done", range(6))
    def test_it_is_finished_once(self, workspace: Path, done: int) -> None:
        """Killed after each number of files; then what is left is done."""
        prepared: list[str] = []

        async def killed(tool: ApplyPatchTool) -> ToolOutput:
            prepared.append(await tool.prepare(request(body(*ALL))))
            planned = await tool._planned(tool._patches(request(body(*ALL))))
            for each in planned[:done]:
                await tool._put(each, request(body(*ALL)))
            return ToolOutput("")

        using(workspace, killed)
        for _ in range(2):
            said = using(workspace, lambda tool: tool.recover(request(body(*ALL)), prepared[0]))
            assert not said.is_error, said.text
            assert text_files(workspace) == AFTER
        assert versions(workspace, "a.txt") == [FILES["a.txt"], AFTER["a.txt"]]

    def test_what_others_changed_meanwhile_stays(self, workspace: Path) -> None:
        prepared = using(workspace, lambda tool: _prepared(tool)).text
        (workspace / "c.txt").write_text("newer\n")
        said = using(workspace, lambda tool: tool.recover(request(body(*ALL)), prepared))
        assert "c.txt was changed by someone else" in said.text
        assert text_files(workspace) == {**FILES, "c.txt": "newer\n"}

    def test_what_was_refused_is_refused(self, workspace: Path) -> None:
        patch = body("*** Update File: a.txt", "-nine", "+9")
        said = using(workspace, lambda tool: tool.recover(request(patch), '{"files": {}}'))
        assert "not in the file" in said.text

    def test_the_mode_of_a_file_stays(self, workspace: Path) -> None:
        (workspace / "a.txt").chmod(0o750)
        apply(workspace, "*** Update File: a.txt", "-two", "+2")
        assert (workspace / "a.txt").stat().st_mode & 0o777 == 0o750


async def _prepared(tool: ApplyPatchTool) -> ToolOutput:
    return ToolOutput(await tool.prepare(request(body(*ALL))))
