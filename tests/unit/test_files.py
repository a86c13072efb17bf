"""Files are replaced whole or not at all."""

from __future__ import annotations

import multiprocessing
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from colleague.files import write_atomic


def test_replaces_keeps_the_mode_and_leaves_nothing_beside(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "a.md"
    write_atomic(file, "one", mode=0o600)
    write_atomic(file, "two")
    assert file.read_text() == "two"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == ["a.md"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    write_atomic(tmp_path / "link.md", "new")
    assert (tmp_path / "real.md").read_text() == "new"
    assert (tmp_path / "link.md").is_symlink()


def _write_many(file: Path, letter: str) -> None:
    for _ in range(50):
        write_atomic(file, letter * 50_000)


def test_two_writers_never_tear_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    write_atomic(file, "a" * 50_000)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(file, letter)) for letter in "ab"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        text = file.read_text()
        assert len(text) == 50_000
        assert len(set(text)) == 1
    assert [writer.exitcode for writer in writers] == [0, 0]


FULL_DISK = """
import pathlib, resource, signal
from colleague.files import write_atomic
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
write_atomic(pathlib.Path({file!r}), "x" * 100_000)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="the limit stands in for a full disk")
def test_a_write_that_fails_leaves_the_old_text(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK.format(file=str(file))], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "File too large" in done.stderr
    assert file.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.md"]
