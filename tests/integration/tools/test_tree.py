"""Nothing outside the tree can be reached, whatever the path and whoever moves things meanwhile."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
import unicodedata
from pathlib import Path

import pytest

from colleague.agent.tools.path import PathError, escaped, split
from colleague.agent.tools.staged import temporary_name
from colleague.agent.tools.tree import MOST_BYTES_READ, MOST_BYTES_WRITTEN, Root, Tree
from tests.integration.tools.desk import Desk, Session

SECRET = "the secret outside"  # noqa: S105

HOSTILE = [
    "/etc/passwd",
    "//etc/passwd",
    "/",
    "~/x",
    "~root/x",
    "..",
    "../secret.md",
    "../../secret.md",
    "state/..",
    "state/../../secret.md",
    "state/../state/pipeline.md",
    "./../secret.md",
    "state/./../../secret.md",
    "state/sub/../../../secret.md",
    "state//..//..//secret.md",
    "../state/pipeline.md",
    "state\\..\\..\\secret.md",
    "..\\secret.md",
    "C:\\secret.md",
    "state/pipeline.md\0",
    "state/pipeline.md\0.txt",
    "\0",
    "state/new\nline.md",
    "state/\x1b[31mred.md",
    "state/\u202egnp.md",
    "state/\u2066x.md",
    "state/\u2028x.md",
    "state/\ud800x.md",
    "state/\udcff.md",
    "state/\uff0e\uff0e/secret.md",
    "\uff0e\uff0e/secret.md",
    "state/\u2025/secret.md",
    "state/\u2024\u2024/secret.md",
    "state/..\uff0fsecret.md",
    "state/..\uff3csecret.md",
    "state/\uff0e",
    "state/" + "x" * 256,
    "state/" + "ä" * 128,
    "state/" + "a/" * 50 + "x.md",
    "x/" * 5000,
    "state/" + "y" * 100_000,
    "orchestrator.md",
    "expert.yaml",
    "sales/state/pipeline.md",
    "State/pipeline.md",
    "ſtate/pipeline.md",
    "state/" + temporary_name("pipeline.md"),
    "",
    ".",
    "./",
    "state",
    "state/",
    "file:///etc/passwd",
    "%2e%2e/secret.md",
    "state/link-to-file",
    "state/link-to-folder/secret.md",
    "state/link-to-folder",
    "state/link-inside",
    "state/deep/link/secret.md",
    "state/dangling",
    "state/loop",
    "state/loop/x.md",
    "state/pipe",
    "state/socket",
    "state/null",
    "state/pipeline.md/x.md",
    "state/fd",
    "scratch/proc/self/cwd",
    "knowledge/link/secret.md",
]


@pytest.fixture
def hostile_desk(sqlite_desk: Desk) -> Desk:
    desk, outside = sqlite_desk, sqlite_desk.home / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text(SECRET)
    state = desk.file("state")
    (state / "link-to-file").symlink_to(outside / "secret.md")
    (state / "link-to-folder").symlink_to(outside)
    (state / "link-inside").symlink_to("pipeline.md")
    (state / "deep").mkdir()
    (state / "deep" / "link").symlink_to("../../../../../../outside")
    (state / "dangling").symlink_to(outside / "new.md")
    (state / "loop").symlink_to("loop")
    (state / "fd").symlink_to("/dev/fd/0")
    desk.file("scratch/proc").symlink_to("/proc")
    (desk.package / "knowledge" / "link").symlink_to(outside)
    os.mkfifo(state / "pipe")
    here = Path.cwd()
    os.chdir(state)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")
    finally:
        os.chdir(here)
    try:
        os.mknod(state / "null", 0o20666, os.makedev(1, 3))
    except PermissionError:
        os.mkfifo(state / "null")
    return desk


WITH_FILES = {
    "read": {},
    "write": {"text": "gotcha"},
    "edit": {"edits": [{"old": "secret", "new": "gotcha"}]},
}
WITH_FOLDERS = {"ls": {}, "find": {"pattern": "*"}, "grep": {"pattern": "secret"}}


def test_a_hostile_path_is_refused_by_every_tool(hostile_desk: Desk) -> None:
    async def attack(session: Session) -> None:
        for path, (name, arguments) in itertools.product(HOSTILE, WITH_FILES.items()):
            output = await session.call(name, path=path, **arguments)
            assert output.is_error, (name, path, output)
            assert SECRET not in output.text
            assert len(output.text) < 500
            assert output.text.isprintable(), output.text

    before = {each: each.read_bytes() for each in hostile_desk.home.rglob("*") if plain(each)}
    hostile_desk.run(attack)
    after = {each: each.read_bytes() for each in hostile_desk.home.rglob("*") if plain(each)}
    assert after == before


def test_a_hostile_path_is_no_folder_either(hostile_desk: Desk) -> None:
    async def attack(session: Session) -> None:
        for path, (name, arguments) in itertools.product(HOSTILE, WITH_FOLDERS.items()):
            output = await session.call(name, path=path, **arguments)
            assert SECRET not in output.text, (name, path)
            assert output.is_error or "secret.md" not in output.text, (name, path)

    hostile_desk.run(attack)


def plain(path: Path) -> bool:
    return (
        path.is_file()
        and not path.is_symlink()
        and "colleague.sqlite" not in path.name
        and path.suffix != ".lock"
    )


def test_searches_do_not_follow_links(hostile_desk: Desk) -> None:
    found = hostile_desk.call("find", pattern="**").text.splitlines()
    assert "state/pipeline.md" in found
    assert "state/link-to-folder" in found
    assert not any("secret" in path for path in found)
    assert hostile_desk.call("grep", pattern="outside").text == "[nothing matches]"


def test_ls_says_what_cannot_be_used(hostile_desk: Desk) -> None:
    lines = hostile_desk.call("ls", path="state").text.splitlines()
    assert "link-to-file  link, cannot be used" in lines
    assert "pipe  special, cannot be used" in lines
    assert "deep/" in lines
    assert "pipeline.md  24 bytes" in lines


@pytest.mark.parametrize("path", ["state", "./state/", "state/.", "./state//"])
def test_harmless_ways_to_write_a_path(sqlite_desk: Desk, path: str) -> None:
    assert sqlite_desk.call("ls", path=path).text == "pipeline.md  24 bytes"
    assert "Ada" in sqlite_desk.call("read", path=f"{path}/pipeline.md").text


class TestErrors:
    """Each says what is wrong and what to do."""

    READING = (
        ("/etc/passwd", "/etc/passwd is absolute. Paths begin in the tree; list its top with ls."),
        ("state/../x", "state/../x has a .. in it. Write the path from the top of the tree."),
        ("state\\x", "state\\x has a backslash. Write / between folders."),
        ("state/pipline.md", "There is no state/pipline.md. Did you mean state/pipeline.md?"),
        ("pipeline.md", "There is no pipeline.md. Did you mean state/pipeline.md?"),
        ("stat/pipeline.md", "There is no stat/pipeline.md. Did you mean state/?"),
        ("State/pipeline.md", "There is no State/pipeline.md. Did you mean state/?"),
        ("knowledge/zzz.md", "There is no knowledge/zzz.md. knowledge/ has link, pricing.md."),
        ("learnings/zzz.md", "There is no learnings/zzz.md. learnings/ is empty."),
        ("scratch/zzz.md", "There is no scratch/zzz.md. scratch/ has proc."),
        (
            "zzz",
            "There is no zzz. The top folder has functions/, knowledge/, learnings/, persona/, "
            "processes/, scratch/, state/.",
        ),
        ("state", "state is a folder. Name a file."),
        ("", "The path is missing or is the top folder. Name a file."),
        ("state/pipeline.md/x", "state/pipeline.md is a file, not a folder. Read it."),
        (
            "state/link-inside",
            "state/link-inside is a link, and links are not followed here. Use the path of the file itself.",
        ),
        ("state/pipe", "state/pipe is a pipe, socket or device, not a plain file. It cannot be used."),
        ("state/a\0b", "state/a\\x00b has a character that cannot be printed. Name the file without it."),
    )

    def test_reading(self, hostile_desk: Desk) -> None:
        async def read(session: Session) -> list[tuple[str, str]]:
            return [(path, (await session.call("read", path=path)).text) for path, _ in self.READING]

        assert hostile_desk.run(read) == list(self.READING)

    def test_a_real_path_inside(self, sqlite_desk: Desk) -> None:
        path = str(sqlite_desk.file("state/pipeline.md"))
        assert sqlite_desk.call("read", path=path).text.endswith(" Here it is called state/pipeline.md.")

    @pytest.mark.parametrize(
        ("path", "says"),
        [
            ("knowledge/pricing.md", "knowledge/pricing.md is read only. "),
            ("notes.md", "notes.md cannot be written. "),
        ],
    )
    def test_writing(self, sqlite_desk: Desk, path: str, says: str) -> None:
        output = sqlite_desk.call("write", path=path, text="x")
        assert output.is_error
        assert output.text == says + "Files can be written in learnings/, scratch/, state/."

    def test_only_capitals_differ(self, sqlite_desk: Desk) -> None:
        output = sqlite_desk.call("write", path="state/Pipeline.md", text="x")
        assert output.text == (
            "There is already state/pipeline.md, which differs from Pipeline.md only in capitals. "
            "Use that name, or another one."
        )
        sqlite_desk.file("state/Sub").mkdir()
        assert "already state/Sub" in sqlite_desk.call("write", path="state/sub/x.md", text="x").text

    def test_a_file_without_permission(self, sqlite_desk: Desk) -> None:
        if os.getuid() == 0:
            pytest.skip("root may read everything")
        sqlite_desk.file("state/pipeline.md").chmod(0)
        assert "Permission denied" in sqlite_desk.call("read", path="state/pipeline.md").text

    def test_too_large(self, sqlite_desk: Desk) -> None:
        with sqlite_desk.file("state/big.md").open("wb") as file:
            file.truncate(MOST_BYTES_READ + 1)
        assert "is the most that can be read here" in sqlite_desk.call("read", path="state/big.md").text
        output = sqlite_desk.call("write", path="state/new.md", text="x" * (MOST_BYTES_WRITTEN + 1))
        assert "Split it into several files." in output.text
        assert not sqlite_desk.file("state/new.md").exists()


class TestSpelling:
    """An accent can be one character or two; people and models do not see which."""

    def test_both_find_the_file_as_it_is(self, sqlite_desk: Desk) -> None:
        apart, together = unicodedata.normalize("NFD", "Café.md"), unicodedata.normalize("NFC", "Café.md")
        sqlite_desk.file(f"state/{apart}").write_text("crème")
        for name in (apart, together):
            assert sqlite_desk.call("read", path=f"state/{name}").text == "crème"
        output = sqlite_desk.call("edit", path=f"state/{together}", edits=[{"old": "crème", "new": "noir"}])
        assert not output.is_error
        assert sqlite_desk.file(f"state/{apart}").read_text() == "noir"
        assert sorted(each.name for each in sqlite_desk.file("state").iterdir()) == [apart, "pipeline.md"]
        assert len(sqlite_desk.versions(f"state/{apart}")) == 2
        assert sqlite_desk.call("find", pattern=together).text == f"state/{apart}"

    def test_a_new_name_is_written_together(self, sqlite_desk: Desk) -> None:
        sqlite_desk.call("write", path=unicodedata.normalize("NFD", "state/né/Café.md"), text="x")
        assert sqlite_desk.file(unicodedata.normalize("NFC", "state/né/Café.md")).exists()

    def test_exact_wins_and_neither_is_lost(self, sqlite_desk: Desk) -> None:
        apart, together = unicodedata.normalize("NFD", "é.md"), unicodedata.normalize("NFC", "é.md")
        sqlite_desk.file(f"state/{apart}").write_text("apart")
        sqlite_desk.file(f"state/{together}").write_text("together")
        assert sqlite_desk.call("read", path=f"state/{apart}").text == "apart"
        assert sqlite_desk.call("read", path=f"state/{together}").text == "together"

    def test_names_nobody_could_type(self, sqlite_desk: Desk) -> None:
        sqlite_desk.file("state/two\nlines").mkdir()
        Path(os.fsdecode(bytes(sqlite_desk.file("state")) + b"/\xff.md")).write_text("needle")
        assert sqlite_desk.call("ls", path="state").text.splitlines() == [
            "pipeline.md  24 bytes",
            "two\\nlines/",
            "\\udcff.md  6 bytes",
        ]
        assert sqlite_desk.call("grep", pattern="needle").text == "[nothing matches]"
        assert len(sqlite_desk.call("find", pattern="*", path="state").text.splitlines()) == 3

    def test_shown_never_breaks_a_sentence(self) -> None:
        assert escaped("a\nb\0\u202e\ud800") == "a\\nb\\x00\\u202e\\ud800"
        assert len(escaped("x" * 10_000)) < 150


def test_a_root_that_is_a_link_is_refused(sqlite_desk: Desk) -> None:
    outside = sqlite_desk.home / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text(SECRET)
    sqlite_desk.file("scratch").rmdir()
    sqlite_desk.file("scratch").symlink_to(outside)
    for name, arguments in {"read": {}, "write": {"text": "x"}}.items():
        output = sqlite_desk.call(name, path="scratch/secret.md", **arguments)
        assert output.text == "scratch cannot be opened: it is a link or not a folder."
    assert (outside / "secret.md").read_text() == SECRET


def test_a_root_is_made_at_the_first_write(sqlite_desk: Desk) -> None:
    sqlite_desk.file("scratch").rmdir()
    assert sqlite_desk.call("ls", path="scratch").text == "[the folder is empty]"
    assert not sqlite_desk.call("grep", pattern="x").is_error
    assert not sqlite_desk.call("write", path="scratch/deep/down/a.md", text="x").is_error
    assert sqlite_desk.file("scratch/deep/down/a.md").read_text() == "x"


class TestOneFolder:
    """The main agent: the workspace is the top."""

    def test_reads_and_lists_from_the_top(self, tmp_path: Path) -> None:
        real = tmp_path / "real"
        (real / "notes").mkdir(parents=True)
        (real / "AGENTS.md").write_text("hello")
        (real / "notes" / "a.md").write_text("note")
        (tmp_path / "workspace").symlink_to(real)
        tree = Tree({"": Root(tmp_path / "workspace", writable=True)})
        assert tree.read("AGENTS.md").data == b"hello"
        assert tree.read("./notes/a.md").path == "notes/a.md"
        assert [entry.path for entry in tree.entries(".")] == ["AGENTS.md", "notes"]
        assert [entry.path for entry in tree.walk(".").entries] == ["AGENTS.md", "notes", "notes/a.md"]
        assert tree.to_write("new/x.md") == "new/x.md"
        assert tree.real("notes/a.md") == real / "notes/a.md"
        with pytest.raises(PathError, match=r"has a \.\. in it"):
            tree.read("../x")

    def test_a_missing_workspace_is_empty(self, tmp_path: Path) -> None:
        tree = Tree({"": Root(tmp_path / "gone", writable=True)})
        assert tree.entries(".") == []
        assert tree.read_if_there("x.md") is None


class Swapper(threading.Thread):
    """Swaps a name between something real and a link to the outside, as fast as it can."""

    def __init__(self, name: Path, real: Path, link: Path) -> None:
        super().__init__(daemon=True)
        self.name_, self.real, self.link = name, real, link
        self.ended = threading.Event()
        self.rounds = 0

    def run(self) -> None:
        """The name is in turn the real thing, the link, and nothing, or a folder that a writer made."""
        while not self.ended.is_set():
            for each in (self.real, self.link):
                try:
                    each.rename(self.name_)
                    self.name_.rename(each)
                except OSError:
                    self.name_.rename(self.real.parent.parent / f"made-{self.rounds}")
            self.rounds += 1

    def __enter__(self) -> Swapper:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


class TestSwappedWhileInUse:
    """The check and the use are one thing: no link that appears in between is ever followed."""

    ROUNDS = 1500

    def test_a_folder(self, tmp_path: Path) -> None:
        root, outside = self.world(tmp_path)
        (root / "real").mkdir()
        (root / "real" / "a.md").write_text("inside")
        (root / "link").symlink_to(outside)
        tree = Tree({"state": Root(root, writable=True)})
        with Swapper(root / "sub", root / "real", root / "link"):
            seen = self.attempts(tree, "state/sub/a.md")
        assert "inside" in seen
        assert SECRET not in seen
        assert (outside / "a.md").read_text() == SECRET
        assert [each.name for each in outside.iterdir()] == ["a.md"]

    def test_a_file(self, tmp_path: Path) -> None:
        root, outside = self.world(tmp_path)
        (root / "real").write_text("inside")
        (root / "link").symlink_to(outside / "a.md")
        tree = Tree({"state": Root(root, writable=True)})
        with Swapper(root / "a.md", root / "real", root / "link"):
            seen = self.attempts(tree, "state/a.md", write=False)
        assert "inside" in seen
        assert SECRET not in seen
        assert (outside / "a.md").read_text() == SECRET

    def test_a_pipe_blocks_nobody(self, tmp_path: Path) -> None:
        root, _ = self.world(tmp_path)
        (root / "real").write_text("inside")
        os.mkfifo(root / "link")
        tree = Tree({"state": Root(root, writable=True)})
        with Swapper(root / "a.md", root / "real", root / "link"):
            seen = self.attempts(tree, "state/a.md", write=False)
        assert seen <= {"inside", "refused"}

    def test_the_swapped_link_is_replaced_not_followed(self, tmp_path: Path) -> None:
        """What is staged goes to the name itself, whatever has become of it."""
        root, outside = self.world(tmp_path)
        (root / "a.md").write_text("inside")
        tree = Tree({"state": Root(root, writable=True)})
        content = tree.read("state/a.md")
        staged = tree.stage("state/a.md", b"new")
        (root / "a.md").unlink()
        (root / "a.md").symlink_to(outside / "a.md")
        assert not staged.put(content.stamp)
        staged.close()
        assert (outside / "a.md").read_text() == SECRET
        assert [each.name for each in root.iterdir()] == ["a.md"]

    def world(self, tmp_path: Path) -> tuple[Path, Path]:
        root, outside = tmp_path / "root", tmp_path / "outside"
        root.mkdir()
        outside.mkdir()
        (outside / "a.md").write_text(SECRET)
        return root, outside

    def attempts(self, tree: Tree, path: str, *, write: bool = True) -> set[str]:
        """All that was read: so often, and until it was the real thing at least once."""
        seen: set[str] = set()
        end = time.monotonic() + 10
        for number in itertools.count():
            seen.add(self.attempt(tree, path, write=write))
            if number > self.ROUNDS and ("inside" in seen or time.monotonic() > end):
                return seen
        raise AssertionError

    def attempt(self, tree: Tree, path: str, *, write: bool = True) -> str:
        try:
            content = tree.read(path)
            if write:
                staged = tree.stage(path, content.data)
                staged.put(content.stamp)
                staged.close()
        except (PathError, OSError):
            return "refused"
        return content.data.decode()


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptor_is_left_open(hostile_desk: Desk) -> None:
    tree = hostile_desk.tree
    before = open_descriptors()
    for path in HOSTILE:
        for attempt in (tree.read, tree.entries, tree.walk, tree.to_write, tree.clear_temporary):
            try:
                attempt(path)
            except (PathError, OSError):
                continue
    assert open_descriptors() <= before


def test_split_keeps_plain_names() -> None:
    assert split("./a//b/./c.md") == ("a", "b", "c.md")
    assert split("...") == ("...",)
    assert split("a..b/..c/d..") == ("a..b", "..c", "d..")
    assert split("日本/résumé 1.md") == ("日本", "résumé 1.md")
