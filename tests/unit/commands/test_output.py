"""What is kept and shown of a command's output."""

from __future__ import annotations

import pytest

from colleague.agent.commands.keys import key_bytes
from colleague.agent.commands.output import CommandOutput
from colleague.agent.commands.terminal_text import terminal_text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\n\ttab\n", "plain\n\ttab\n"),
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b]0;a new title\x07x", "x"),
        (b"\x1b]52;c;ZXZpbA==\x1b\\x", "x"),
        (b"\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\", "click"),
        (b"\x1b[2J\x1b[H\x1bcgone", "gone"),
        (b"\x1bP1$r0m\x1b\\x", "x"),
        (b"10%\r50%\r100%\n", "100%\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"a\x08b\x07\x00\x7f", "a\\x08b\\x07\\x00\\x7f"),
        ("a\u202eb\u200bc\x9bd".encode(), "a\\u202eb\\u200bc\\x9bd"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\x1b[", ""),
        (b"\x1b]" + b"x" * 10_000, "x" * (10_000 - 4096)),
    ],
)
def test_nothing_of_it_reaches_a_terminal(data: bytes, text: str) -> None:
    assert terminal_text(data) == text


def test_only_the_beginning_and_the_end_are_kept() -> None:
    output = CommandOutput(head=4, tail=6)
    for _ in range(1000):
        output.add(b"abcdefghij")
    assert output.size == 10_000
    assert output.text(100).startswith("abcd\n[... ")
    assert output.text(100).endswith(" bytes left out ...]\nefghij") or output.text(100).endswith("efghij")
    assert len(output.text(100)) < 60


def test_what_came_since_the_last_look() -> None:
    output = CommandOutput(head=4, tail=6)
    output.add(b"abc")
    assert output.since(0, 100) == "abc"
    output.add(b"defg")
    assert output.since(3, 100) == "defg"
    output.add(b"h")
    assert output.since(7, 100) == "h"
    assert output.since(8, 100) == ""


def test_a_long_answer_is_cut_in_the_middle() -> None:
    output = CommandOutput()
    output.add(b"x" * 100 + b"y" * 100)
    assert output.text(40) == "x" * 10 + "\n[... 160 bytes left out ...]\n" + "y" * 30


def test_keys() -> None:
    assert key_bytes(["C-c", "Up", "Enter", "ls", "ctrl-D"]) == b"\x03\x1b[A\rls\x04"
