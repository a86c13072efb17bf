"""The database in the hands of an operator: checked, copied while it is in use, damaged, gone, put back."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from colleague.clock import SystemClock
from colleague.home import Home
from colleague.store.accept import Arrival, accept_all
from colleague.store.backup import back_up
from colleague.store.sqlite import SqliteDatabase
from tests.conftest import EXAMPLE, SALES, Colleague

ARRIVAL = Arrival(expert="e", trigger="t", source="test", payload="{}", session_key="s", lane=None)


@pytest.fixture
def file(colleague: Colleague) -> Path:
    """A home with an expert and a database."""
    assert colleague("init").code == 0
    assert colleague("expert", "install", str(EXAMPLE)).code == 0
    assert colleague("status").code == 0
    return colleague.home / "state" / "colleague.sqlite"


def events(file: Path) -> int:
    connection = sqlite3.connect(file)
    try:
        return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])
    finally:
        connection.close()


def add_events(file: Path, count: int) -> None:
    async def go() -> None:
        database = SqliteDatabase(file, SystemClock())
        await database.write(lambda tx: accept_all(tx, [replace(ARRIVAL)] * count))
        await database.close()

    asyncio.run(go())


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


class TestBackup:
    def test_there_and_back(self, colleague: Colleague, file: Path, tmp_path: Path) -> None:
        add_events(file, 3)
        copy = tmp_path / "copy.sqlite"
        said = colleague("db", "backup", str(copy))
        assert (said.code, mode(copy), events(copy)) == (0, 0o600, 3)
        assert sorted(path.name for path in tmp_path.iterdir() if "copy" in path.name) == ["copy.sqlite"]
        add_events(file, 2)
        said = colleague("db", "restore", str(copy))
        assert said.code == 0
        assert events(file) == 3
        [aside] = [
            each
            for each in file.parent.glob("colleague.sqlite.2*")
            if each.suffix[-4:] not in ("-wal", "-shm")
        ]
        assert events(aside) == 5
        assert colleague("status").code == 0

    def test_what_exists_is_replaced_only_when_asked(
        self, colleague: Colleague, file: Path, tmp_path: Path
    ) -> None:
        copy = tmp_path / "copy.sqlite"
        copy.write_text("precious")
        said = colleague("db", "backup", str(copy))
        assert said.code == 1
        assert "exists already" in said.err
        assert copy.read_text() == "precious"
        assert colleague("db", "backup", str(copy), "--force").code == 0
        assert mode(copy) == 0o600
        assert colleague("db", "backup", str(file), "--force").code == 1, "the database itself"
        assert f"{tmp_path} is a folder" in colleague("db", "backup", str(tmp_path), "--force").err

    def test_it_is_one_moment_however_much_is_written_meanwhile(self, tmp_path: Path) -> None:
        """Each commit brings two runs, so a copy with an odd number saw half a commit."""
        file, stop = tmp_path / "state" / "colleague.sqlite", threading.Event()

        async def write() -> None:
            database = SqliteDatabase(file, SystemClock())
            while not stop.is_set():
                await database.write(lambda tx: accept_all(tx, [ARRIVAL, ARRIVAL]))
            await database.close()

        SqliteDatabase(file, SystemClock()).stop()
        writing = threading.Thread(target=lambda: asyncio.run(write()))
        writing.start()
        try:
            counts = []
            for number in range(10):
                back_up(file, tmp_path / f"{number}.sqlite", force=False)
                counts.append(events(tmp_path / f"{number}.sqlite"))
        finally:
            stop.set()
            writing.join()
        assert all(count % 2 == 0 for count in counts), counts
        assert counts == sorted(counts)

    def test_nothing_is_restored_while_something_works(
        self, colleague: Colleague, file: Path, tmp_path: Path
    ) -> None:
        copy = tmp_path / "copy.sqlite"
        assert colleague("db", "backup", str(copy)).code == 0
        with Home(colleague.home).working():
            said = colleague("db", "restore", str(copy))
            assert said.code == 3
            assert str(os.getpid()) in said.err
            assert colleague("db", "backup", str(tmp_path / "other.sqlite")).code == 0

    @pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\0" + bytes(5000)])
    def test_garbage_is_not_restored(
        self, content: bytes, colleague: Colleague, file: Path, tmp_path: Path
    ) -> None:
        add_events(file, 1)
        (tmp_path / "garbage").write_bytes(content)
        said = colleague("db", "restore", str(tmp_path / "garbage"))
        assert said.code == 1
        assert "Traceback" not in said.err
        assert "stop the gateway" not in said.err  # it is the copy that is damaged
        assert events(file) == 1

    def test_nor_is_a_database_of_something_else(
        self, colleague: Colleague, file: Path, tmp_path: Path
    ) -> None:
        connection = sqlite3.connect(tmp_path / "other")
        connection.execute("CREATE TABLE things (name TEXT)")
        connection.close()
        said = colleague("db", "restore", str(tmp_path / "other"))
        assert said.code == 1
        assert "is no database of this Colleague" in said.err

    def test_postgresql_has_its_own_tools(self, colleague: Colleague, file: Path) -> None:
        (colleague.home / "colleague.json").write_text('{experts: {database: "postgresql://x@localhost/y"}}')
        said = colleague("db", "backup", "copy")
        assert said.code == 2
        assert "pg_dump" in said.err


class TestGone:
    @pytest.mark.parametrize("how", ["missing", "empty"])
    def test_every_command_says_so_and_makes_no_new_one(
        self, how: str, colleague: Colleague, file: Path
    ) -> None:
        _destroy(file, how)
        for command in (("status",), ("run", "list"), ("agent", "hello"), ("serve", "--port", "0")):
            said = colleague(*command)
            assert said.code == 1, command
            assert "colleague db restore FILE" in said.err
            assert "--new-database" in said.err
            assert not file.exists() or file.stat().st_size == 0
        assert colleague("expert", "list").code == 0

    def test_a_person_says_that_it_may_be_new(self, colleague: Colleague, file: Path) -> None:
        _destroy(file, "empty")
        assert colleague("db", "new").code == 1, "nobody said yes"
        assert colleague("db", "new", "--yes").code == 0
        assert colleague("status").code == 0
        assert colleague("db", "check").code == 0

    def test_another_database_is_not_taken_for_the_own(
        self, colleague: Colleague, file: Path, tmp_path: Path
    ) -> None:
        other = tmp_path / "other" / "colleague.sqlite"
        SqliteDatabase(other, SystemClock()).stop()
        _destroy(file, "missing")
        other.rename(file)
        said = colleague("status")
        assert said.code == 1
        assert "not the one that this home worked with" in said.err
        assert colleague("db", "new", "--yes").code == 0
        assert colleague("status").code == 0


class TestDamaged:
    def test_it_is_one_sentence(self, colleague: Colleague, file: Path) -> None:
        add_events(file, 200)
        sqlite3.connect(file).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
        with file.open("r+b") as writing:
            writing.seek(4096)
            writing.write(os.urandom(file.stat().st_size - 4096))
        for command in (("status",), ("run", "list"), ("db", "check"), ("db", "backup", "copy")):
            said = colleague(*command)
            assert said.code == 1, command
            assert "damaged" in said.out + said.err
            assert "Traceback" not in said.err
        assert not (colleague.home.parent / "copy").exists()


class TestModes:
    def test_a_home_is_its_owners_alone_whatever_the_umask(self, colleague: Colleague) -> None:
        for command in (("init",), ("expert", "install", str(EXAMPLE)), ("agent", "hello")):
            arguments = [sys.executable, "-m", "colleague", *command]
            environment = colleague.environment({})
            subprocess.run(arguments, env=environment, umask=0, check=False, capture_output=True)
        open_ = [path for path in colleague.home.rglob("*") if mode(path) & 0o077 and not path.is_symlink()]
        assert (colleague.home / "state" / "colleague.sqlite").exists()
        assert [path for path in open_ if "workspace" not in path.parts] == []

    def test_doctor_finds_what_is_open_and_closes_it(self, colleague: Colleague, file: Path) -> None:
        settings = colleague.home / "colleague.json"
        for path, wide in ((colleague.home, 0o755), (settings, 0o644), (file, 0o664)):
            path.chmod(wide)
        said = colleague("doctor")
        assert "! permissions: other users" in said.out
        assert mode(settings) == 0o644, "nothing is changed unasked"
        fixed = colleague("doctor", "--fix")
        assert "3 files and folders are closed to others" in fixed.out
        assert (mode(colleague.home), mode(settings), mode(file)) == (0o700, 0o600, 0o600)
        assert "permissions" not in colleague("doctor").out

    def test_it_follows_no_link_out_of_the_home(
        self, colleague: Colleague, file: Path, tmp_path: Path
    ) -> None:
        outside = tmp_path / "outside"
        outside.mkdir(mode=0o755)
        (outside / "public.md").write_text("for all")
        (outside / "public.md").chmod(0o644)
        (colleague.home / "experts" / SALES / "away").symlink_to(outside)
        (colleague.home / "logs" / "away.md").symlink_to(outside / "public.md")
        colleague("doctor", "--fix")
        assert (mode(outside), mode(outside / "public.md")) == (0o755, 0o644)


def _destroy(file: Path, how: str) -> None:
    for ending in ("-wal", "-shm"):
        file.with_name(file.name + ending).unlink(missing_ok=True)
    if how == "empty":
        file.write_bytes(b"")
    else:
        file.unlink()
