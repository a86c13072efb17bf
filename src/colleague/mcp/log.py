"""What a server writes on stderr or logs: a file of limited size, without secrets, the last lines at hand."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path

from colleague.files import private_folder
from colleague.redaction import Redactor

MAX_BYTES = 5 * 1024 * 1024
_LONGEST_LINE = 64 * 1024
_TAIL_LINES = 20
MOST_MESSAGES = 1_000
"""Log messages over the protocol that are written down in a minute."""
_LONGEST_MESSAGE = 4_000


def log_file(logs: Path, server: str) -> Path:
    return logs / f"mcp-{safe_name(server)}.log"


def safe_name(server: str) -> str:
    """The name of a server as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", server)


class ServerLog:
    """The log of one server. A full disk costs log lines, never the server."""

    def __init__(self, path: Path, redact: Redactor) -> None:
        self.path = path
        self._redact = redact
        self._part = ""
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._minute, self._messages = 0.0, 0

    def feed(self, data: bytes) -> None:
        """Takes stderr as it comes; whole lines are written."""
        *lines, self._part = (self._part + data.decode(errors="replace")).split("\n")
        if len(self._part) > _LONGEST_LINE:
            kept = max(self._redact.longest - 1, 0)
            clean = self._redact(self._part)
            cut = max(len(clean) - kept, 0)
            lines.append(clean[:cut])
            self._part = clean[cut:]
        self._write(lines)

    def flush(self) -> None:
        if self._part:
            self._write([self._part])
            self._part = ""

    def note(self, text: str) -> None:
        """A line of our own, such as the start of the server."""
        self._append(f"--- {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {self._redact(text)}\n")

    def say(self, level: str, text: str) -> None:
        """A log message that came over the protocol, on one line. It is bounded: some servers flood."""
        if self._said_since(time.monotonic()) > MOST_MESSAGES:
            return
        line = " ".join(text[:_LONGEST_MESSAGE].split())
        self._append(f"[{level}] {self._redact(line)}\n")

    def _said_since(self, now: float) -> int:
        """How many messages came within this minute, this one counted; the first too many is noted."""
        if now - self._minute > 60:
            self._minute, self._messages = now, 0
        self._messages += 1
        if self._messages == MOST_MESSAGES + 1:
            self.note("it logs too much; the rest of this minute is left out")
        return self._messages

    def aside(self, line: str) -> None:
        """A line that it did not write on stderr."""
        self._append(f"{self._redact(line)}\n")

    def forget_tail(self) -> None:
        self._tail.clear()

    def tail(self, lines: int = 3) -> str:
        """The last lines it said, as part of a sentence."""
        said = [line.strip() for line in self._tail if line.strip()]
        return " / ".join(said[-lines:])[-600:]

    def _write(self, lines: list[str]) -> None:
        clean = [self._redact(line) for line in lines]
        self._tail.extend(clean)
        if clean:
            self._append("".join(f"{line}\n" for line in clean))

    def _append(self, text: str) -> None:
        with contextlib.suppress(OSError):
            private_folder(self.path.parent)
            data = text.encode(errors="replace")
            self._rotate(len(data))
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)

    def _rotate(self, more: int) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self.path.stat().st_size + more > MAX_BYTES:
                self.path.replace(self.path.with_name(f"{self.path.name}.1"))
