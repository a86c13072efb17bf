"""A person at a terminal: types keys into a running command and looks at what is shown."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.conftest import Colleague
from tests.forked import forked_command

ENTER, CTRL_C, CTRL_D, ALT_ENTER = "\r", "\x03", "\x04", "\x1b\r"
_CONTROL = re.compile(r"\x1b\][^\x07]*\x07|\x1b[\[(][0-9;?]*[A-Za-z]|\x1b[=>]|[\r\x00\x07]")
SECONDS = 180


@dataclass
class Typist:
    """What was shown so far is `shown`, without what only moves the cursor; a look begins after the last."""

    terminal: int
    process: subprocess.Popen[bytes]
    raw: str = ""
    looked: int = field(default=0)

    @property
    def shown(self) -> str:
        return _CONTROL.sub("", self.raw)

    def type(self, *keys: str) -> None:
        for key in keys:
            os.write(self.terminal, key.encode())

    def paste(self, text: str) -> None:
        self.type(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int, rows: int = 40) -> None:
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, text: str) -> str:
        """What was shown up to this text since the last look."""
        deadline = time.monotonic() + SECONDS
        while text not in self.shown[self.looked :]:
            assert time.monotonic() < deadline, f"{text!r} was not shown:\n{self.shown}"
            assert self._read() or text in self.shown[self.looked :], (
                f"it ended without {text!r}:\n{self.shown}"
            )
        at = self.shown.index(text, self.looked) + len(text)
        found, self.looked = self.shown[self.looked : at], at
        return found

    def repeat(self, keys: str, text: str, *, seconds: float = 5) -> None:
        """Types the keys again and again, until this text is shown."""
        deadline = time.monotonic() + SECONDS
        while text not in self.shown[self.looked :]:
            assert time.monotonic() < deadline, f"{text!r} was not shown:\n{self.shown}"
            self.type(keys)
            patience = time.monotonic() + seconds
            while text not in self.shown[self.looked :] and time.monotonic() < patience:
                self._read()
        self.looked = self.shown.index(text, self.looked) + len(text)

    def end(self) -> int:
        """The exit code, once it has ended by itself."""
        deadline = time.monotonic() + SECONDS
        while self._read():
            assert time.monotonic() < deadline, f"it goes on:\n{self.shown}"
        return self.process.wait(timeout=SECONDS)

    def _read(self) -> bool:
        """False when there is nothing more to come."""
        ready, _, _ = select.select([self.terminal], [], [], 0.2)
        if not ready:
            return self.process.poll() is None
        try:
            self.raw += os.read(self.terminal, 65536).decode(errors="replace")
        except OSError:
            return False
        return True


@contextmanager
def typing(colleague: Colleague, *arguments: str, columns: int = 100, **environment: str) -> Iterator[Typist]:
    """A command on a terminal of its own."""
    ours, theirs = pty.openpty()
    more = {"TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "EDITOR": "true", **environment}
    command = forked_command("-m", "colleague", *arguments)
    started = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=colleague.environment(more),
        cwd=colleague.home.parent,
        start_new_session=True,
    )
    os.close(theirs)
    typist = Typist(ours, started)
    typist.resize(columns)
    try:
        yield typist
    finally:
        if started.poll() is None:
            started.kill()
        started.wait()
        os.close(ours)
