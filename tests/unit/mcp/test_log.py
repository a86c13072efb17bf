"""Log messages over the protocol."""

from __future__ import annotations

from pathlib import Path

from colleague.mcp.log import MOST_MESSAGES, ServerLog
from colleague.redaction import Redactor


def test_a_flood_of_messages_is_cut(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "mcp-s.log", Redactor([]))
    for number in range(MOST_MESSAGES * 3):
        log.say("info", f"message {number}")
    lines = log.path.read_text().splitlines()
    assert len(lines) == MOST_MESSAGES + 1
    assert "it logs too much" in lines[-1]


def test_a_message_is_one_line_without_secrets(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "mcp-s.log", Redactor(["hunter2-hunter2"]))
    log.say("error", "first\n--- 2026-01-01 started\nhunter2-hunter2")
    [line] = log.path.read_text().splitlines()
    assert line.startswith("[error] first --- 2026-01-01 started")
    assert "hunter2" not in line
