"""state/audit.jsonl: what commands changed in files, until a process with the database takes it in.

A command adds one line, which needs no database and no heavy import."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from colleague.files import locked, private_opener, write_atomic
from colleague.home import Home

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CommandChange:
    """What a command changed; `at` in milliseconds. It has its id from the start, so that taking it in twice
    is taking it in once."""

    id: str
    at: int
    who: str
    action: str
    subject: str = ""
    expert: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AuditFile:
    """The lines that wait, oldest first."""

    path: Path

    @classmethod
    def of(cls, home: Home) -> AuditFile:
        return cls(home.state / "audit.jsonl")

    def add(self, change: CommandChange) -> None:
        """On disk when it returns. Raises OSError, or HomeBusy."""
        line = json.dumps(asdict(change), ensure_ascii=False) + "\n"
        with self._locked(), open(self.path, "ab", opener=private_opener) as file:
            torn = file.tell() > 0 and not self.path.read_bytes().endswith(b"\n")
            file.write((b"\n" if torn else b"") + line.encode(errors="replace"))
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    def forget(self, taken: bytes) -> None:
        """Removes lines that are in the database now; those that came meanwhile stay."""
        with self._locked():
            lines = self.read()
            if not lines.startswith(taken):  # another process took them in, too
                return
            if rest := lines.removeprefix(taken):
                write_atomic(self.path, rest)
            else:
                self.path.unlink(missing_ok=True)

    def _locked(self) -> AbstractContextManager[None]:
        return locked(self.path.with_suffix(".lock"))


def changes_in(lines: bytes) -> list[CommandChange]:
    """A line that a power cut has torn is told in the log."""
    return [change for line in lines.splitlines() if (change := _change(line)) is not None]


def _change(line: bytes) -> CommandChange | None:
    try:
        return CommandChange(**json.loads(line))
    except (ValueError, TypeError):
        if line.strip():
            log.warning("a line for the audit log cannot be read: %r", line)
        return None
