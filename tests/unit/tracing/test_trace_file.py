"""Files of traces: whole lines, a size limit, several writers, disks that are full."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from colleague.agent.tracing.trace_file import TraceFile

WRITER = """
import sys
from pathlib import Path
from colleague.agent.tracing.trace_file import TraceFile

file = TraceFile(Path(sys.argv[1]), most_bytes=4000, kept=50)
for number in range(300):
    file.append('{"who": "%s", "number": %d}' % (sys.argv[2], number))
"""


def lines(folder: Path) -> list[str]:
    return [line for file in sorted(folder.iterdir()) for line in file.read_text().splitlines()]


def test_a_file_is_its_owners_alone_and_so_is_its_folder(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        TraceFile(tmp_path / "logs" / "deep" / "a.jsonl").append("{}")
    finally:
        os.umask(old)
    assert (tmp_path / "logs" / "deep" / "a.jsonl").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "logs").stat().st_mode & 0o777 == 0o700


def test_a_full_file_is_renamed_and_the_oldest_one_goes(tmp_path: Path) -> None:
    file = TraceFile(tmp_path / "a.jsonl", most_bytes=30, kept=2, header="head")
    for number in range(10):
        file.append(f"line number {number}")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.jsonl", "a.jsonl.1", "a.jsonl.2"]
    assert (tmp_path / "a.jsonl").read_text() == "head\nline number 9\n"
    assert (tmp_path / "a.jsonl.2").read_text() == "head\nline number 7\n"
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in tmp_path.iterdir())


def test_a_line_that_is_longer_than_a_file_is_written_once(tmp_path: Path) -> None:
    file = TraceFile(tmp_path / "a.jsonl", most_bytes=10, kept=1)
    file.append("x" * 100)
    file.append("y")
    assert (tmp_path / "a.jsonl").read_text() == "y\n"
    assert (tmp_path / "a.jsonl.1").read_text() == "x" * 100 + "\n"


def test_half_a_line_of_a_crash_does_not_spoil_the_next(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"half')
    TraceFile(tmp_path / "a.jsonl").append("{}")
    assert (tmp_path / "a.jsonl").read_text() == '{"half\n{}\n'


def test_text_that_is_no_unicode_is_written(tmp_path: Path) -> None:
    TraceFile(tmp_path / "a.jsonl").append("\ud800")
    assert (tmp_path / "a.jsonl").read_text() == "\\ud800\n"


def test_what_fits_only_in_part_is_taken_back(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from pathlib import Path
from colleague.agent.tracing.trace_file import TraceFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
file = TraceFile(Path(sys.argv[1]))
file.append("0123456789")
try:
    file.append("0123456789")
except OSError as error:
    print(error.strerror)
"""
    path = tmp_path / "a.jsonl"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip()
    assert path.read_text() == "0123456789\n"


def test_a_device_is_written_and_never_renamed() -> None:
    TraceFile(Path("/dev/null"), most_bytes=1).append("line")
    with pytest.raises(OSError, match="No space"):
        TraceFile(Path("/dev/full")).append("line")


def test_two_processes_lose_no_line_and_mix_none(tmp_path: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "a.jsonl"), who]) for who in "ab"
    ]
    assert [each.wait(120) for each in started] == [0, 0]
    found = [json.loads(line) for line in lines(tmp_path)]
    assert len(found) == 600
    for who in "ab":
        assert {each["number"] for each in found if each["who"] == who} == set(range(300))
