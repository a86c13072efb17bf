"""Logs without floods, and without an end to the work when they cannot be written."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from colleague.logs import FILE, FIRST_FEW, LogFile, LogLimiter, logging_to


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
def file(tmp_path: Path, now: list[float]) -> Iterator[tuple[logging.Logger, LogFile, Path]]:
    path = tmp_path / FILE
    handler = LogFile(path, LogLimiter(few=3, seconds=30, monotonic=lambda: now[0]))
    logger = logging.Logger("test")
    logger.addHandler(handler)
    yield logger, handler, path
    handler.close()


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def messages(path: Path) -> list[str]:
    return [line["message"] for line in lines(path)]


def test_the_first_few_are_written_and_the_others_counted(
    file: tuple[logging.Logger, LogFile, Path], now: list[float]
) -> None:
    logger, handler, path = file
    for number in range(50):
        logger.warning("no more of %s", number)
    assert messages(path) == ["no more of 0", "no more of 1", "no more of 2"]
    now[0] = 31
    handler.write_summaries()
    assert messages(path)[3:] == ["47 more of these in the last 31 s: no more of 49"]
    assert lines(path)[3]["level"] == "warning"
    logger.warning("no more of %s", 50)
    assert messages(path)[4:] == ["no more of 50"]


def test_a_count_is_written_at_the_end_too(file: tuple[logging.Logger, LogFile, Path]) -> None:
    logger, handler, path = file
    for _ in range(5):
        logger.error("again")
    handler.close()
    assert messages(path)[-1].startswith("2 more of these in the last 1 s: again")


def test_other_lines_are_in_nobodys_way(file: tuple[logging.Logger, LogFile, Path]) -> None:
    logger, _, path = file
    for number in range(20):
        logger.info("event %s is done", number)
        logger.error("broken\nwith detail %s" % number)  # noqa: UP031 - as asyncio does it
    logger.error("broken otherwise")
    found = messages(path)
    assert sum(text.startswith("event") for text in found) == 20
    assert sum(text.startswith("broken\n") for text in found) == 3
    assert found[-1] == "broken otherwise"


def test_errors_of_other_kinds_are_told_apart(file: tuple[logging.Logger, LogFile, Path]) -> None:
    logger, _, path = file
    for error in (ValueError, KeyError, OSError):
        for _ in range(5):
            try:
                raise error("x")
            except error:
                logger.exception("it failed")
    assert [line["traceback"].splitlines()[-1] for line in lines(path)] == [
        text for text in ("ValueError: x", "KeyError: 'x'", "OSError: x") for _ in range(3)
    ]


def test_what_libraries_warn_of_is_in_the_same_file_and_limited(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with logging_to(tmp_path):
        for number in range(1000):
            logging.getLogger("asyncio").error("socket.accept() out of system resource\nsocket: %s", number)
        logging.getLogger("httpx").info("a request")
    found = messages(tmp_path / FILE)
    assert len(found) == FIRST_FEW + 1
    assert found[-1].startswith(f"{1000 - FIRST_FEW} more of these")
    assert capfd.readouterr().err == ""


def test_a_log_that_cannot_be_written_is_said_once_and_stops_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").write_text("a file where a folder should be")
    with logging_to(tmp_path / "logs"):
        for number in range(100):
            logging.getLogger("colleague.x").error("problem %s", number)
    assert capsys.readouterr().err.count("the log cannot be written") == 1


def test_a_full_disk_costs_lines_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    (tmp_path / FILE).symlink_to("/dev/full")
    with logging_to(tmp_path):
        for number in range(100):
            logging.getLogger("colleague.x").error("problem %s", number)
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_nor_does_a_closed_stderr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs").write_text("a file where a folder should be")
    with open(os.devnull, "w") as closed:  # noqa: PTH123
        pass
    monkeypatch.setattr(sys, "stderr", closed)
    with logging_to(tmp_path / "logs"):
        logging.getLogger("colleague.x").error("problem")
    monkeypatch.setattr(sys, "stderr", None)
    with logging_to(tmp_path / "logs"):
        logging.getLogger("colleague.x").error("problem")


def test_a_line_that_cannot_be_put_into_words_stops_nobody(
    file: tuple[logging.Logger, LogFile, Path],
) -> None:
    class Broken:
        def __str__(self) -> str:
            raise ValueError("no words")

    logger, _, path = file
    logger.info("it is %s", Broken())
    logger.info("%d", "no number")
    logger.info("and on")
    assert messages(path) == ["and on"]
