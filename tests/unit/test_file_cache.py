"""What was read from a file counts until the file is another, however it became another."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from colleague import file_cache as kept
from colleague.file_cache import FileCache


class Reader:
    """Counts how often it was asked."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, file: Path) -> str:
        self.times += 1
        return file.read_text() if file.exists() else ""


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.setattr(kept, "SETTLED_NS", -1)
    return Reader()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a.yaml").write_text("one")
    return tmp_path / "a.yaml"


def test_an_unchanged_file_is_read_once(reader: Reader, file: Path) -> None:
    read = FileCache(reader)
    assert [read(file) for _ in range(3)] == ["one"] * 3
    assert reader.times == 1


def test_a_change_that_hides_is_seen(reader: Reader, file: Path) -> None:
    """As long as before, and dated back."""
    read = FileCache(reader)
    read(file)
    before = file.stat()
    time.sleep(0.02)
    file.write_text("two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read(file) == "two"


def test_another_file_in_its_place_is_seen(reader: Reader, file: Path) -> None:
    read = FileCache(reader)
    read(file)
    beside = file.with_name("b.yaml")
    beside.write_text("two")
    beside.replace(file)
    assert read(file) == "two"
    link, target = file.with_name("link"), file.with_name("c.yaml")
    target.write_text("six")
    link.symlink_to(file)
    assert read(link) == "two"
    link.unlink()
    link.symlink_to(target)
    assert read(link) == "six"


def test_a_file_that_is_gone_is_not_kept(reader: Reader, file: Path) -> None:
    read = FileCache(reader)
    read(file)
    file.unlink()
    assert (read(file), read(file)) == ("", "")
    file.write_text("one")
    assert read(file) == "one"


def test_a_file_that_may_still_change_unseen_is_read_each_time(file: Path) -> None:
    reader = Reader()
    read = FileCache(reader)
    read(file), read(file)
    assert reader.times == 2


def test_a_failure_is_not_kept(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setattr(kept, "SETTLED_NS", -1)
    read = FileCache(lambda path: int(path.read_text()))
    for _ in range(2):
        with pytest.raises(ValueError, match="one"):
            read(file)


def test_it_does_not_grow_for_ever(reader: Reader, tmp_path: Path) -> None:
    read = FileCache(reader, most=3)
    files = [tmp_path / f"{number}.yaml" for number in range(5)]
    for each in files:
        each.write_text(each.name)
        read(each)
    assert [read(each) for each in files[-3:]] == [each.name for each in files[-3:]]
    assert reader.times == 5
    read(files[0])
    assert reader.times == 6
