"""What a person sees who types a command: both streams, on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess

from tests.conftest import Colleague
from tests.forked import forked_command


def on_a_terminal(colleague: Colleague, *arguments: str, columns: int = 200) -> str:
    """What a person sees: both streams, on a terminal."""
    ours, theirs = pty.openpty()
    command = forked_command("-m", "colleague", *arguments)
    environment = colleague.environment({"TERM": "xterm", "COLUMNS": str(columns)})
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    assert process.returncode == 0, shown
    return shown.decode(errors="replace")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
