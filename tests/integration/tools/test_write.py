"""write and edit: what they do, what they refuse, and that nothing is overwritten unseen."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.tool import ToolOutput, UnknownEnd
from colleague.agent.tools.page import MOST_LINES
from colleague.agent.tools.tree import Root, Tree
from colleague.agent.tools.versioned import FileChange, VersionedTree
from colleague.store.versions import Author, hash_of
from tests.integration.tools.desk import Desk, Session

PIPELINE = "state/pipeline.md"
TEXT = "# Pipeline\n\n- Ada\n- Bob\n"
NOT_FOUND = "edit 1: old is not in state/pipeline.md. Nothing was changed. "


def edit(desk: Desk, *pairs: tuple[str, str], path: str = PIPELINE, **more: Any) -> ToolOutput:
    return desk.call("edit", path=path, edits=[{"old": old, "new": new, **more} for old, new in pairs])


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


class TestWrite:
    def test_a_new_file(self, desk: Desk) -> None:
        output = desk.call("write", call_id="c1", path="scratch/deep/a.md", text="one\ntwo\n")
        assert output == ToolOutput("scratch/deep/a.md is written: version 1, 2 lines, 8 bytes.")
        assert desk.file("scratch/deep/a.md").read_text() == "one\ntwo\n"
        [version] = desk.versions("scratch/deep/a.md")
        assert (version.number, version.hash, version.text) == (1, hash_of(b"one\ntwo\n"), "one\ntwo\n")
        assert version.author == Author("run-1", "c1")
        assert names_in(desk.file("scratch/deep")) == ["a.md"]

    def test_the_mode_stays(self, sqlite_desk: Desk) -> None:
        sqlite_desk.file(PIPELINE).chmod(0o640)
        edit(sqlite_desk, ("Ada", "Eve"))
        assert stat.S_IMODE(sqlite_desk.file(PIPELINE).stat().st_mode) == 0o640
        sqlite_desk.call("write", path="state/new.md", text="x")
        assert stat.S_IMODE(sqlite_desk.file("state/new.md").stat().st_mode) == 0o644

    def test_any_text_at_all(self, desk: Desk) -> None:
        for number, text in enumerate(["", "\0", "a\0b", "\r\n", "base64:aGk=", "😀\u2028", "\ufeffx"]):
            path = f"scratch/{number}.md"
            assert not desk.call("write", path=path, text=text).is_error
            assert desk.file(path).read_bytes() == text.encode()
            assert [version.data for version in desk.versions(path)] == [text.encode()]

    def test_the_same_text_again(self, desk: Desk) -> None:
        """Nothing is overwritten, so it need not have been read."""
        output = desk.call("write", path=PIPELINE, text=TEXT)
        assert output.text == "state/pipeline.md has exactly this text already; nothing was changed."
        assert desk.versions() == []
        assert not desk.call("write", path=PIPELINE, text="now it is known").is_error

    def test_arguments(self, sqlite_desk: Desk) -> None:
        assert sqlite_desk.call("write", path="state/a.md").text == "write: text is missing."
        assert "half a character" in sqlite_desk.call("write", path="state/a.md", text="\ud800").text

    def test_the_disk_is_full(self, sqlite_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("colleague.agent.tools.staged.os.fsync", full)
        output = edit(sqlite_desk, ("Ada", "Eve"))
        monkeypatch.undo()
        assert output == ToolOutput("edit did not work: No space left on device.", is_error=True)
        assert sqlite_desk.file(PIPELINE).read_text() == TEXT
        assert sqlite_desk.versions() == []
        assert names_in(sqlite_desk.file("state")) == ["pipeline.md"]


class TestEdit:
    def test_replaces_exactly(self, desk: Desk) -> None:
        output = edit(desk, ("- Ada\n", "- Ada (won)\n"))
        assert output.text == "state/pipeline.md is written: version 2, 4 lines, 30 bytes."
        assert desk.file(PIPELINE).read_text() == TEXT.replace("Ada", "Ada (won)")
        first, second = desk.versions()
        assert (first.text, first.author) == (TEXT, Author())
        assert second.text == TEXT.replace("Ada", "Ada (won)")

    def test_several_one_after_another(self, sqlite_desk: Desk) -> None:
        edit(sqlite_desk, ("Ada", "Eve"), ("Eve", "Eva"), ("- Bob\n", ""))
        assert sqlite_desk.file(PIPELINE).read_text() == "# Pipeline\n\n- Eva\n"

    def test_all_or_nothing(self, sqlite_desk: Desk) -> None:
        output = edit(sqlite_desk, ("Ada", "Eve"), ("Zoe", "Zed"))
        assert output.is_error
        assert output.text.startswith("edit 2: old is not in state/pipeline.md. Nothing was changed. ")
        assert sqlite_desk.file(PIPELINE).read_text() == TEXT
        assert sqlite_desk.versions() == []

    def test_replace_all(self, sqlite_desk: Desk) -> None:
        edit(sqlite_desk, ("- ", "* "), replace_all=True)
        assert sqlite_desk.file(PIPELINE).read_text() == TEXT.replace("- ", "* ")

    @pytest.mark.parametrize(
        ("old", "says"),
        [
            (
                "- ",
                "edit 1: old occurs more than once in state/pipeline.md, at lines 3, 4. Nothing was changed. "
                "Take more of the text around the one you mean or set replace_all.",
            ),
            (
                "- Ada  \n- Bob",
                f"{NOT_FOUND}It is there with other spaces or line ends; read the file and copy it exactly.",
            ),
            (
                "# Pipelines",
                f"{NOT_FOUND}The nearest is line 1: # Pipeline",
            ),
            (
                "zzzzzz",
                f"{NOT_FOUND}Read the file and copy the text exactly.",
            ),
            ("", "edit 1: old is empty. Give the text to replace, or use write."),
            ("new", "edit 1: old and new are the same."),
        ],
    )
    def test_what_does_not_fit(self, sqlite_desk: Desk, old: str, says: str) -> None:
        output = edit(sqlite_desk, (old, "new"))
        assert (output.is_error, output.text) == (True, says)

    @pytest.mark.parametrize(
        ("edits", "says"),
        [
            (None, "edit: edits must be a list of at least one object."),
            ([], "edit: edits must be a list of at least one object."),
            (["x"], "edit: edits must be a list of at least one object."),
            ([{"old": "a"}], "edit, edits 1: new is missing."),
            ([{"old": "a", "new": "b", "all": True}],
             "edit, edits 1: there is no argument 'all'; it takes old, new, replace_all."),
        ],
    )  # fmt: skip
    def test_arguments(self, sqlite_desk: Desk, edits: object, says: str) -> None:
        assert sqlite_desk.call("edit", path=PIPELINE, edits=edits).text == says

    def test_a_missing_file(self, sqlite_desk: Desk) -> None:
        output = edit(sqlite_desk, ("a", "b"), path="state/pipelin.md")
        assert output.text == "There is no state/pipelin.md. Did you mean state/pipeline.md?"

    def test_overlaps_are_not_unique(self, sqlite_desk: Desk) -> None:
        sqlite_desk.file("state/a.md").write_text("aaa\n")
        assert "more than once" in edit(sqlite_desk, ("aa", "b"), path="state/a.md").text
        assert not edit(sqlite_desk, ("aa", "b"), path="state/a.md", replace_all=True).is_error
        assert sqlite_desk.file("state/a.md").read_text() == "ba\n"

    def test_line_ends_of_windows_stay(self, sqlite_desk: Desk) -> None:
        sqlite_desk.file("state/win.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
        assert not edit(sqlite_desk, ("one\ntwo\n", "1\n2\n"), path="state/win.md").is_error
        assert sqlite_desk.file("state/win.md").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\nthree\r\n"

    def test_bytes_that_are_not_utf8_stay(self, desk: Desk) -> None:
        desk.file("state/latin.md").write_bytes(b"Caf\xe9 one\n")
        assert not edit(desk, ("one", "two"), path="state/latin.md").is_error
        assert desk.file("state/latin.md").read_bytes() == b"Caf\xe9 two\n"
        assert [version.data for version in desk.versions("state/latin.md")] == [
            b"Caf\xe9 one\n",
            b"Caf\xe9 two\n",
        ]

    def test_a_binary_file(self, sqlite_desk: Desk) -> None:
        sqlite_desk.file("state/logo.png").write_bytes(b"\x89PNG one")
        output = edit(sqlite_desk, ("one", "two"), path="state/logo.png")
        assert output.text == "state/logo.png is a PNG image, which cannot be edited as text."


class TestUnseen:
    """A whole-file write over a text that this run has not seen is refused, with that text."""

    def test_refused_with_the_text_then_allowed(self, desk: Desk) -> None:
        output = desk.call("write", path=PIPELINE, text="mine")
        assert output.is_error
        assert output.text == (
            "state/pipeline.md exists and this session has not seen its present text, so it was not "
            "replaced. Here it is; work what matters of it into your text and write again, or use edit.\n"
            + TEXT
        )
        assert output.source == "file:state/pipeline.md"
        assert desk.file(PIPELINE).read_text() == TEXT
        assert desk.versions() == []
        assert not desk.call("write", path=PIPELINE, text="mine").is_error

    def test_read_then_restarted_then_written(self, desk: Desk) -> None:
        """Each call opens the database anew, as after a crash."""
        desk.call("read", path=PIPELINE)
        assert not desk.call("write", path=PIPELINE, text="mine").is_error
        assert not desk.call("write", path=PIPELINE, text="mine again").is_error
        assert [version.text for version in desk.versions()] == [TEXT, "mine", "mine again"]

    def test_another_run_has_not_seen_it(self, desk: Desk) -> None:
        desk.call("read", path=PIPELINE)
        assert desk.call("write", path=PIPELINE, text="theirs", run_id="run-2").is_error
        assert not desk.call("write", path=PIPELINE, text="mine").is_error
        assert desk.call("write", path=PIPELINE, text="theirs", run_id="run-3").is_error

    def test_changed_since_it_was_read(self, desk: Desk) -> None:
        desk.call("read", path=PIPELINE)
        desk.file(PIPELINE).write_text("by a person")
        output = desk.call("write", path=PIPELINE, text="mine")
        assert output.is_error
        assert output.text.endswith("\nby a person")
        assert desk.file(PIPELINE).read_text() == "by a person"

    def test_a_part_is_not_the_whole(self, desk: Desk) -> None:
        desk.call("read", path=PIPELINE, limit=2)
        assert desk.call("write", call_id="w", path=PIPELINE, text="mine").is_error

    def test_parts_add_up(self, desk: Desk) -> None:
        desk.call("read", path=PIPELINE, offset=3, line_numbers=True)
        desk.call("read", path=PIPELINE, limit=2)
        assert not desk.call("write", path=PIPELINE, text="mine").is_error

    def test_a_refusal_that_shows_a_part_is_not_enough(self, desk: Desk) -> None:
        desk.file(PIPELINE).write_text("line\n" * (MOST_LINES + 3))
        for _ in range(2):
            output = desk.call("write", path=PIPELINE, text="mine")
            assert output.text.endswith(f"read on with offset={MOST_LINES + 1}]")
        desk.call("read", path=PIPELINE, offset=MOST_LINES + 1)
        assert not desk.call("write", path=PIPELINE, text="mine").is_error

    def test_an_edit_of_an_unseen_file_does_not_show_it(self, desk: Desk) -> None:
        edit(desk, ("Ada", "Eve"))
        assert desk.call("write", path=PIPELINE, text="mine").is_error

    def test_an_edit_of_a_seen_file_keeps_it_seen(self, desk: Desk) -> None:
        desk.call("read", path=PIPELINE)
        edit(desk, ("Ada", "Eve"))
        assert not desk.call("write", path=PIPELINE, text="mine").is_error

    def test_a_search_is_not_a_read(self, sqlite_desk: Desk) -> None:
        sqlite_desk.call("grep", pattern="")
        assert sqlite_desk.call("write", path=PIPELINE, text="mine").is_error

    def test_a_repeated_read_counts_for_what_it_showed_last(self, desk: Desk) -> None:
        """The first answer never reached the model: the machine died before."""
        desk.call("read", call_id="c1", path=PIPELINE)
        desk.file(PIPELINE).write_text("newer")
        desk.call("read", call_id="c1", path=PIPELINE)
        desk.file(PIPELINE).write_text(TEXT)
        assert desk.call("write", path=PIPELINE, text="mine").is_error

    def test_an_empty_file_and_a_binary_one(self, desk: Desk) -> None:
        desk.file("state/empty.md").touch()
        desk.file("state/logo.png").write_bytes(b"\x89PNG \xff\0")
        for path, shows in (
            ("state/empty.md", "[the file is empty]"),
            ("state/logo.png", "[a PNG image of 7 bytes]"),
        ):
            output = desk.call("write", path=path, text="mine")
            assert output.text.endswith(f"\n{shows}")
            assert not desk.call("write", path=path, text="mine").is_error
        assert desk.versions("state/logo.png")[0].data == b"\x89PNG \xff\0"

    def test_a_file_that_was_deleted_is_new(self, desk: Desk) -> None:
        desk.file(PIPELINE).unlink()
        assert not desk.call("write", path=PIPELINE, text="mine").is_error


class TestPeople:
    """People edit files without asking."""

    def test_an_edit_of_theirs_becomes_a_version(self, desk: Desk) -> None:
        edit(desk, ("Ada", "Eve"))
        desk.file(PIPELINE).write_text("- Eve\n- Bob\n- Zoe, by a person\n")
        edit(desk, ("Bob", "Rob"))
        assert desk.file(PIPELINE).read_text() == "- Eve\n- Rob\n- Zoe, by a person\n"
        assert [version.author.run_id for version in desk.versions()] == [None, "run-1", None, "run-1"]

    def test_putting_an_old_text_back_is_an_edit_too(self, desk: Desk) -> None:
        edit(desk, ("Ada", "Eve"))
        desk.file(PIPELINE).write_text(TEXT)
        edit(desk, ("Ada", "Zoe"))
        assert desk.file(PIPELINE).read_text() == TEXT.replace("Ada", "Zoe")
        assert [version.text for version in desk.versions()] == [
            TEXT,
            TEXT.replace("Ada", "Eve"),
            TEXT,
            TEXT.replace("Ada", "Zoe"),
        ]

    def test_a_save_between_the_version_and_the_rename(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The change is taken back and made again on what the person saved."""
        saved = []

        def save(name: str) -> None:
            if name == "file.version.after" and not saved:
                saved.append(name)
                desk.file(PIPELINE).write_text(TEXT + "- Zoe, by a person\n")

        monkeypatch.setattr("colleague.agent.tools.versioned.failpoint", save)
        assert not edit(desk, ("Ada", "Eve")).is_error
        assert saved
        assert desk.file(PIPELINE).read_text() == TEXT.replace("Ada", "Eve") + "- Zoe, by a person\n"
        assert [version.text for version in desk.versions()] == [
            TEXT,
            TEXT + "- Zoe, by a person\n",
            TEXT.replace("Ada", "Eve") + "- Zoe, by a person\n",
        ]

    def test_the_same_for_a_whole_write(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        desk.call("read", path=PIPELINE)

        def save(name: str) -> None:
            if name == "file.version.after":
                desk.file(PIPELINE).write_text("by a person")

        monkeypatch.setattr("colleague.agent.tools.versioned.failpoint", save)
        output = desk.call("write", path=PIPELINE, text="mine")
        assert output.is_error
        assert output.text.endswith("\nby a person")
        assert desk.file(PIPELINE).read_text() == "by a person"


class TestCalls:
    """A call makes its change once, however often it is sent."""

    def test_a_rename_that_fails_is_finished_later(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise OSError(5, "Input/output error")

        async def work(session: Session) -> list[ToolOutput]:
            call = {"call_id": "c1", "path": PIPELINE, "edits": [{"old": "Ada", "new": "Eve"}]}
            prepared = await session.prepare("edit", **call)
            with monkeypatch.context() as broken:
                broken.setattr("colleague.agent.tools.staged.os.rename", fail)
                with pytest.raises(UnknownEnd):
                    await session.call("edit", **call)
                still_broken = await session.recover("edit", prepared, **call)
            return [still_broken, await session.recover("edit", prepared, **call)]

        still_broken, mended = desk.run(work)
        assert still_broken == ToolOutput(
            "Version 2 of state/pipeline.md is recorded, but cannot be put into its place: Input/output "
            "error. That is tried again with every write and at every start.",
            is_error=True,
        )
        assert not mended.is_error
        assert desk.file(PIPELINE).read_text() == TEXT.replace("Ada", "Eve")
        assert len(desk.versions()) == 2

    def test_sent_twice(self, desk: Desk) -> None:
        for _ in range(2):
            output = desk.call(
                "edit", call_id="c1", path=PIPELINE, edits=[{"old": "- Bob\n", "new": "- Bob\n- Bob\n"}]
            )
            assert output.text == "state/pipeline.md is written: version 2, 5 lines, 30 bytes."
        assert desk.file(PIPELINE).read_text().count("Bob") == 2
        assert len(desk.versions()) == 2

    def test_prepared_holds_path_and_hashes(self, desk: Desk) -> None:
        async def prepare(session: Session) -> list[dict[str, Any]]:
            edits = [{"old": "Ada", "new": "Eve"}]
            return [
                json.loads(await session.prepare("write", call_id="1", path="./" + PIPELINE, text="x")),
                json.loads(await session.prepare("edit", call_id="2", path=PIPELINE, edits=edits)),
                json.loads(await session.prepare("write", call_id="3", path="state/new.md", text="x")),
                json.loads(await session.prepare("edit", call_id="4", path="state/new.md", edits=edits)),
                json.loads(await session.prepare("write", call_id="5", path="/etc/passwd", text="x")),
                json.loads(await session.prepare("write", call_id="6", text="x")),
            ]

        before, x = hash_of(TEXT.encode()), hash_of(b"x")
        assert desk.run(prepare) == [
            {"path": PIPELINE, "before": before, "after": x},
            {"path": PIPELINE, "before": before, "after": hash_of(TEXT.replace("Ada", "Eve").encode())},
            {"path": "state/new.md", "before": "", "after": x},
            {"path": "state/new.md", "before": "", "after": None},
            {"path": "/etc/passwd", "before": None, "after": None},
            {"path": "", "before": None, "after": None},
        ]
        assert desk.file(PIPELINE).read_text() == TEXT

    def test_a_cancelled_change_goes_on_to_its_end(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        async def cancel(session: Session) -> None:
            begun = asyncio.Event()
            monkeypatch.setattr("colleague.agent.tools.versioned.failpoint", lambda _: begun.set())
            edits = [{"old": "Ada", "new": "Eve"}]
            task = asyncio.create_task(session.call("edit", path=PIPELINE, edits=edits))
            await begun.wait()
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            assert "version 3" in await session.ok(
                "edit", path=PIPELINE, edits=[{"old": "Bob", "new": "Rob"}]
            )

        desk.run(cancel)
        assert desk.file(PIPELINE).read_text() == TEXT.replace("Ada", "Eve").replace("Bob", "Rob")

    def test_cancelled_anywhere_it_happens_once(self, desk: Desk) -> None:
        async def cancel(session: Session) -> str:
            edits = [{"old": "Ada", "new": "Eve"}]
            for turns in range(12):
                task = asyncio.create_task(session.call("edit", call_id="c1", path=PIPELINE, edits=edits))
                for _ in range(turns):
                    await asyncio.sleep(0.001)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            return await session.ok("edit", call_id="c1", path=PIPELINE, edits=edits)

        assert "version 2" in desk.run(cancel)
        assert desk.file(PIPELINE).read_text() == TEXT.replace("Ada", "Eve")
        assert len(desk.versions()) == 2


def test_two_owners_share_the_lock_of_a_file(desk: Desk) -> None:
    """The main agent sees the expert's files in its workspace."""

    async def both(session: Session) -> None:
        main = VersionedTree(
            Tree({"": Root(desk.home / "workspace", writable=True)}), session.database, "main", desk.locks
        )

        async def add(files: VersionedTree, path: str, name: str) -> None:
            for number in range(10):
                author = Author("run-1", f"{name}-{number}")
                line = f"{author.call_id}\n".encode()
                await files.change(
                    path, FileChange(author, lambda standing, line=line: (standing.data or b"") + line)
                )

        await asyncio.gather(
            add(main, f"expert-state/sales/{PIPELINE}", "main"), add(session.files, PIPELINE, "sales")
        )

    desk.run(both)
    lines = desk.file(PIPELINE).read_text().splitlines()[4:]
    assert sorted(lines) == sorted(f"{name}-{number}" for name in ("main", "sales") for number in range(10))


def test_nothing_is_left_behind(sqlite_desk: Desk) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    edit(sqlite_desk, ("Ada", "Eve"))
    edit(sqlite_desk, ("Zzz", "Eve"))
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
    assert names_in(sqlite_desk.file("state")) == ["pipeline.md"]
