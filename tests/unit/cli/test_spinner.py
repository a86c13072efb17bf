"""The line that says how long something takes already."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

BLOCKED = """
import time
from colleague.cli.spinner import Spinner

spinner = Spinner()
with spinner.turning():
    spinner.start("starting")
    time.sleep(3)
    with spinner.away():
        print("a line")
    spinner.start("starting")
    time.sleep(1)
"""


def test_it_turns_while_the_event_loop_is_held_up() -> None:
    """As by an import. What is written in between stands on a line of its own."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", BLOCKED], stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    assert process.returncode == 0, shown
    assert b"starting, 2 s" in shown
    assert b"\r\x1b[2Ka line\r\n" in shown
    assert shown.endswith(b"\r\x1b[2K")


def test_nothing_is_drawn_for_a_program() -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, timeout=120)
    assert (done.stdout, done.stderr) == (b"a line\n", b"")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
