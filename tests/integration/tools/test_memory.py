"""memory_search and memory_get."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import sqlite3
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from colleague.agent.tool import ToolOutput, ToolRequest
from colleague.agent.tools import memory_files, memory_index
from colleague.agent.tools.memory_tools import memory_tools
from colleague.agent.tools.tree import Content
from colleague.config.agents import AgentDefaults

_processes = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Memory:
    """A home whose agent has a memory."""

    home: Path
    settings: dict[str, object] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    @property
    def indexes(self) -> Path:
        return self.home / "state" / "memory-index"

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def with_extra(self, *paths: str) -> Memory:
        return Memory(self.home, {"memorySearch": {"extraPaths": list(paths)}})

    def call(self, name: str, **arguments: object) -> ToolOutput:
        made = memory_tools(
            AgentDefaults.model_validate(self.settings),
            self.workspace,
            closed=[self.home, self.home / "state", self.home / "experts"],
            indexes=self.indexes,
        )
        tool = {each.spec.name: each for each in made}[name]
        return asyncio.run(tool.call(ToolRequest("r", "c", "k", dict(arguments))))

    def search(self, query: str, **arguments: object) -> str:
        output = self.call("memory_search", query=query, **arguments)
        assert not output.is_error, output.text
        assert output.source == "memory"
        return output.text

    def get(self, path: str, **arguments: object) -> str:
        output = self.call("memory_get", path=path, **arguments)
        assert not output.is_error, output.text
        return output.text

    def get_error(self, path: str, **arguments: object) -> str:
        output = self.call("memory_get", path=path, **arguments)
        assert output.is_error
        return output.text


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    made = Memory(tmp_path / "home")
    made.workspace.mkdir(parents=True)
    return made


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.write("MEMORY.md", "# Memory\n\nAda prefers mail.\n\n## Travel\n\nWindow seats only.\n")
    memory.write("memory/2026-01-31.md", "# Saturday\n\nWe decided on a rate limit of 40 requests.\n")
    memory.write("memory/projects/gateway.md", "## Gateway\n\n### Rate limits\n\nNobody tested them.\n")
    memory.write("memory/raw.txt", "rate limit in a file that is not Markdown\n")
    memory.write("notes/private.md", "rate limit outside of the memory\n")
    return memory


class TestSearch:
    def test_hits_have_their_place(self, filled: Memory) -> None:
        text = filled.search("rate limits")
        first, second = text.split("\n\n")
        assert first == (
            "memory/projects/gateway.md, lines 3-5, under 'Gateway > Rate limits'\n"
            "     3  ### Rate limits\n     4  \n     5  Nobody tested them."
        )
        assert second.startswith("memory/2026-01-31.md, lines 1-3, under 'Saturday'\n")
        assert "     3  We decided on a rate limit of 40 requests." in second

    @pytest.mark.parametrize(
        ("query", "path"),
        [
            ("preferring", "MEMORY.md, lines 1-3"),
            ("window", "MEMORY.md, lines 5-7, under 'Memory > Travel'"),
            ("2026-01-31", "memory/2026-01-31.md"),
            ("what did we decide about requests?", "memory/2026-01-31.md"),
        ],
    )
    def test_words(self, filled: Memory, query: str, path: str) -> None:
        assert filled.search(query).startswith(path)

    def test_other_languages(self, memory: Memory) -> None:
        memory.write("memory/a.md", "Die Rechnungen kamen spät.\n")
        memory.write("memory/b.md", "昨天的会议记录在这里。\n")
        assert memory.search("rechnung").startswith("memory/a.md")
        assert memory.search("spat").startswith("memory/a.md")
        assert memory.search("会议").endswith("昨天的会议记录在这里。")
        assert memory.search("议会") == "[nothing was found in 2 files; try other words]"

    def test_the_number_of_hits(self, filled: Memory) -> None:
        assert filled.search("rate limit", maxResults=1).count("lines") == 1

    @pytest.mark.parametrize(
        "query",
        [
            '"',
            "AND OR NOT NEAR(",
            'path:* ^"a',
            "x\0y",
            "' OR 1=1; DROP TABLE passages --",
            "{a b}: c",
            "a" * 9000,
        ],
    )
    def test_a_hostile_query_is_only_words(self, filled: Memory, query: str) -> None:
        output = filled.call("memory_search", query=query)
        assert output.text.startswith(("[nothing was found", "memory_search: the query has no", "mem", "MEM"))
        assert filled.search("window").startswith("MEMORY.md")

    @pytest.mark.parametrize("query", ["", "  ", "?!", "\u200b", "🙂"])
    def test_no_word(self, filled: Memory, query: str) -> None:
        output = filled.call("memory_search", query=query)
        assert output.is_error
        assert output.text == "memory_search: the query has no word to look for."

    def test_no_memory(self, memory: Memory) -> None:
        nothing = "[there is no memory yet: neither MEMORY.md nor a file in memory/ exists]"
        assert memory.search("anything") == nothing

    def test_what_changes_is_seen_at_once(self, filled: Memory) -> None:
        filled.search("window")
        filled.write("MEMORY.md", "Aisle seats only.\n")
        (filled.workspace / "memory/2026-01-31.md").unlink()
        assert filled.search("window") == "[nothing was found in 2 files; try other words]"
        assert filled.search("aisle").startswith("MEMORY.md, line 1\n")
        assert "2026" not in filled.search("requests rate")

    def test_a_file_that_did_not_change_is_not_read_again(
        self, filled: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("colleague.file_cache.SETTLED_NS", -(10**12))
        filled.search("window")
        read: list[str] = []
        real = memory_files.MemoryFiles.read
        monkeypatch.setattr(
            memory_files.MemoryFiles,
            "read",
            lambda self, path, **more: (read.append(path), real(self, path, **more))[1],
        )
        assert filled.search("window").startswith("MEMORY.md")
        assert read == []

    def test_code_is_no_heading(self, memory: Memory) -> None:
        memory.write("MEMORY.md", "# Real\n\n```sh\n# fake\nmake\n```\n\nword\n")
        assert memory.search("word").startswith("MEMORY.md, lines 1-8, under 'Real'\n")

    def test_a_long_line(self, memory: Memory) -> None:
        memory.write("MEMORY.md", "x " * 50_000 + "needle " + "y " * 50_000)
        text = memory.search("needle")
        assert text.startswith("MEMORY.md, line 1\n")
        assert "needle" in text
        assert len(text) < 1_000


class TestWhatIsNotSearched:
    def test_a_huge_file(self, filled: Memory) -> None:
        with (filled.workspace / "memory/huge.md").open("wb") as file:
            file.truncate(1 << 30)
        text = filled.search("window")
        assert text.startswith("MEMORY.md")
        assert "[not searched: memory/huge.md has 1,073,741,824 bytes; 2,000,000 is the most that can" in text

    def test_files_that_are_no_text(self, filled: Memory) -> None:
        filled.write("memory/a.md", "window".encode("utf-16"))
        filled.write("memory/b.md", b"window\0")
        text = filled.search("window")
        assert "[not searched: memory/a.md is UTF-16 text; save it as UTF-8 text]" in text
        assert "[not searched: memory/b.md is a binary file; save it as UTF-8 text]" in text

    def test_bytes_that_are_not_utf_8(self, memory: Memory) -> None:
        memory.write("MEMORY.md", b"caf\xe9 window\r\n")
        assert memory.search("window").endswith("     1  caf\ufffd window")

    def test_links_and_pipes(self, filled: Memory, tmp_path: Path) -> None:
        (tmp_path / "secret.md").write_text("window of a stranger")
        (filled.workspace / "memory/link.md").symlink_to(tmp_path / "secret.md")
        (filled.workspace / "memory/folder").symlink_to(tmp_path)
        os.mkfifo(filled.workspace / "memory/pipe.md")
        assert "stranger" not in filled.search("window stranger")
        assert "is a link" in filled.get_error("memory/link.md")
        assert "is a link" in filled.get_error("memory/folder/secret.md")
        assert "is a pipe" in filled.get_error("memory/pipe.md")

    def test_names_that_nobody_can_type(self, filled: Memory) -> None:
        for name in (b"\xff.md", b"a\nb.md"):
            filled.write(f"memory/{os.fsdecode(name)}", "window")
        text = filled.search("window")
        assert text.startswith("MEMORY.md")
        assert r"[not searched: memory/\udcff.md has a name that is not UTF-8]" in text
        assert r"[not searched: memory/a\nb.md has a character that cannot be printed" in text

    def test_a_memory_that_is_a_link(self, memory: Memory, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere/a.md").write_text("window")
        (memory.workspace / "memory").symlink_to(tmp_path / "elsewhere")
        text = memory.search("window")
        assert "[not searched: memory is a link, and links are not followed here" in text
        assert "a.md" not in text


class TestExtraPaths:
    def test_inside_and_outside_of_the_workspace(self, filled: Memory, tmp_path: Path) -> None:
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes/far.md").write_text("rate limit far away")
        (tmp_path / "handbook.txt").write_text("rate limit in the handbook")
        extra = filled.with_extra("notes", str(tmp_path / "notes"), "../../handbook.txt")
        text = extra.search("rate limit")
        root = tmp_path.name
        assert "notes/private.md, line 1\n" in text
        assert "notes-2/far.md, line 1\n" in text
        assert f"{root}/handbook.txt, line 1\n" in text
        assert extra.get("notes-2/far.md") == "rate limit far away"
        assert extra.get(f"{root}/handbook.txt") == "rate limit in the handbook"
        assert "is not in the memory" in extra.get_error(f"{root}/home/state/x.md")

    def test_what_cannot_be_used_is_said(self, filled: Memory, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path)
        (filled.home / "state/deep").mkdir(parents=True)
        (filled.home / "state/deep/key.md").write_text("window key")
        (tmp_path / "sly").symlink_to(filled.home / "state/deep")
        paths = [str(tmp_path / "nowhere"), str(tmp_path / "link"), str(filled.home / "state/deep")]
        text = filled.with_extra(*paths, str(tmp_path / "sly"), "").search("window")
        setting = "agents.defaults.memorySearch.extraPaths"
        assert f"nowhere of {setting} does not exist]" in text
        assert "[not searched: link cannot be opened: it is a link or not a folder]" in text
        assert f"state/deep of {setting} belongs to the runtime and is not searched]" in text
        assert f"sly of {setting} belongs to the runtime and is not searched]" in text
        assert "key" not in text

    def test_the_closed_folders_below_one_stay_closed(self, filled: Memory) -> None:
        (filled.home / "state").mkdir(exist_ok=True)
        (filled.home / "state/key.md").write_text("window key")
        (filled.home / "other").mkdir()
        (filled.home / "other/a.md").write_text("window shared by agents")
        text = filled.with_extra(str(filled.home.parent), str(filled.home / "other")).search("window")
        assert "shared by agents" in text
        assert "key" not in text


class TestGet:
    def test_lines(self, filled: Memory) -> None:
        output = filled.call("memory_get", path="MEMORY.md", **{"from": 3, "lines": 1})
        assert output.text == "Ada prefers mail.\n[lines 3 to 3 of 7 shown; read on with from=4]"
        assert output.source == "file:MEMORY.md"

    def test_the_limit_of_characters(self, memory: Memory) -> None:
        memory.write("MEMORY.md", "a line of words\n" * 1000 + "z" * 500)
        small = Memory(memory.home, {"contextLimits": {"memoryGetMaxChars": 100}})
        assert small.get("MEMORY.md") == (
            "a line of words\n" * 6 + "[lines 1 to 6 of 1001 shown; read on with from=7]"
        )
        assert small.get("MEMORY.md", **{"from": 1001}).endswith("read on with from=1001, column=101]")

    def test_an_absolute_path_of_the_workspace(self, filled: Memory) -> None:
        assert filled.get(str(filled.workspace / "MEMORY.md")).startswith("# Memory")

    @pytest.mark.parametrize(
        ("path", "error"),
        [
            ("memory/2026-01-30.md", "There is no memory/2026-01-30.md. Did you mean memory/2026-01-31.md?"),
            (
                "memory/none",
                "memory/none is not in the memory, which is MEMORY.md and memory/*.md. Use read.",
            ),
            ("notes/private.md", "notes/private.md is not in the memory"),
            ("memory/../notes/private.md", "has a .. in it"),
            ("/etc/passwd", "is absolute"),
            ("memory", "memory is not in the memory"),
            ("", " is not in the memory"),
            ("memory/\0.md", "cannot be printed"),
        ],
    )
    def test_bad_paths(self, filled: Memory, path: str, error: str) -> None:
        assert error in filled.get_error(path)

    def test_bad_numbers(self, filled: Memory) -> None:
        assert "past its end" in filled.get_error("MEMORY.md", **{"from": 99})
        assert "at least 1" in filled.get_error("MEMORY.md", **{"from": 0})
        assert "there is no argument 'offset'" in filled.get_error("MEMORY.md", offset=3)

    def test_no_text(self, filled: Memory) -> None:
        filled.write("memory/a.md", "window".encode("utf-16"))
        assert (
            filled.get("memory/a.md") == "memory/a.md is UTF-16 text of 14 bytes, which is not shown as text."
        )


class TestIndex:
    def test_it_is_private(self, filled: Memory) -> None:
        filled.search("window")
        (file,) = filled.indexes.glob("*.sqlite")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(filled.indexes.stat().st_mode) == 0o700

    @pytest.mark.parametrize(
        "content", [b"this is no database at all, but long enough to be looked at" * 99, b""]
    )
    def test_a_broken_one_is_made_anew(self, filled: Memory, content: bytes) -> None:
        filled.search("window")
        (file,) = filled.indexes.glob("*.sqlite")
        for each in filled.indexes.iterdir():
            each.unlink()
        file.write_bytes(content)
        assert filled.search("window").startswith("MEMORY.md")
        assert filled.search("window").startswith("MEMORY.md")
        assert sqlite3.connect(file).execute("SELECT count(*) FROM files").fetchone() == (3,)

    def test_one_that_cannot_be_written(
        self, filled: Memory, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(memory_index, "BUSY_SECONDS", 0.05)
        filled.search("window")
        (file,) = filled.indexes.glob("*.sqlite")
        holder = sqlite3.connect(file, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        filled.write("memory/new.md", "window in a new file")
        with caplog.at_level(logging.WARNING):
            assert "memory/new.md" in filled.search("window")
        assert "database is locked" in caplog.text
        holder.close()

    def test_many_files_and_several_processes(self, memory: Memory) -> None:
        for number in range(400):
            memory.write(f"memory/{number % 7}/note-{number}.md", f"# Note {number}\n\nword{number} common\n")
        workers = [
            _processes.Process(target=_search_some, args=(memory, range(n, 400, 130))) for n in range(3)
        ]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        assert [each.exitcode for each in workers] == [0, 0, 0]
        assert memory.search("common", maxResults=99).count("note-") == 50


def test_killed_in_the_middle(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before stays, and the rest is read by the next search."""
    monkeypatch.setattr(memory_index, "BATCH", 10)
    for number in range(100):
        memory.write(f"memory/{number}.md", f"common word{number}\n")
    worker = _processes.Process(target=_killed_at_file, args=(memory, 55))
    worker.start()
    worker.join()
    assert worker.exitcode == -signal.SIGKILL
    assert memory.search("common", maxResults=50).count("line 1") == 50
    assert memory.search("word99").startswith("memory/99.md")


def _killed_at_file(memory: Memory, number: int) -> None:
    real, read = memory_files.MemoryFiles.read, list[str]()

    def killing(self: memory_files.MemoryFiles, path: str, **more: int) -> Content:
        read.append(path)
        if len(read) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, path, **more)

    memory_files.MemoryFiles.read = killing  # type: ignore[method-assign,assignment]
    memory.search("common")


def _search_some(memory: Memory, numbers: Sequence[int]) -> None:
    for number in numbers:
        assert f"note-{number}.md" in memory.search(f"word{number}"), number


def test_the_settings_take_both_away(tmp_path: Path) -> None:
    settings = AgentDefaults.model_validate({"memorySearch": {"enabled": False}})
    assert memory_tools(settings, tmp_path, closed=[], indexes=tmp_path) == []
