"""Whatever stands where a text file should be: a sentence, never a hang."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from colleague.agent.prompt.text_file import MOST_BYTES, read_text_file


def bound(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(file))


def test_nothing_is_nothing(tmp_path: Path) -> None:
    assert read_text_file(tmp_path / "AGENTS.md") is None
    (tmp_path / "SOUL.md").symlink_to(tmp_path / "nowhere")
    assert read_text_file(tmp_path / "SOUL.md") is None


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (Path.mkdir, "it is a folder"),
        (os.mkfifo, "it is a pipe"),
        (bound, "it is a socket"),
        (lambda file: file.symlink_to(file), "it cannot be read: Too many levels of symbolic links"),
        (lambda file: file.symlink_to("/dev/zero"), "it is no file with text"),
        (
            lambda file: file.write_bytes("Be kind.".encode("utf-16-le")),
            "it is no UTF-8 text; save it as UTF-8",
        ),
    ],
)
def test_what_is_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], object], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    make(Path("AGENTS.md"))
    found = read_text_file(Path("AGENTS.md"))
    assert found is not None
    assert (found.text, found.problem) == ("", problem)


@pytest.mark.parametrize(
    ("data", "text", "problem"),
    [
        ("Grüße".encode(), "Grüße", ""),
        ("Grüße".encode("utf-8-sig"), "Grüße", ""),
        ("Grüße".encode("utf-16"), "Grüße", "it is UTF-16; save it as UTF-8"),
        ("\ufeffGrüße".encode("utf-16-be"), "Grüße", "it is UTF-16; save it as UTF-8"),
        ("Grüße".encode("latin-1"), "Gr\ufffd\ufffde", "it has bytes that are no UTF-8"),
        (b"", "", ""),
    ],
)
def test_encodings(tmp_path: Path, data: bytes, text: str, problem: str) -> None:
    (tmp_path / "AGENTS.md").write_bytes(data)
    found = read_text_file(tmp_path / "AGENTS.md")
    assert found is not None
    assert found.text == text
    assert found.problem.startswith(problem)
    assert bool(found.problem) == bool(problem)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_of_a_huge_file_beginning_and_end_are_read(tmp_path: Path, encoding: str) -> None:
    text = "first " + "ü" * 5 * MOST_BYTES + " last"
    (tmp_path / "AGENTS.md").write_bytes(text.encode(encoding))
    found = read_text_file(tmp_path / "AGENTS.md")
    assert found is not None
    assert found.text.startswith("first ü")
    assert found.tail.endswith("ü last")
    assert len(found.text) + len(found.tail) < MOST_BYTES < found.unread
    assert "no UTF-8" not in found.problem
