"""Which servers a process started, on disk, so that its successor can end those it left behind."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from colleague.files import write_atomic
from colleague.mcp.process import ProcessId, ProcessTree, identify, machine

_FOREIGN_DAYS = 7


@dataclass(frozen=True)
class Started:
    """One server process. It is written down before it is started, then again with its pid."""

    server: str
    mark: str
    pid: int = 0
    started: str = ""

    @property
    def process(self) -> ProcessId | None:
        return ProcessId(self.pid, self.started) if self.pid else None


class PidFile:
    """A file of our own in `folder`; the files of the dead are cleared by `end_orphans`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._owner = identify(os.getpid()) or ProcessId(os.getpid(), "")
        self._file = folder / f"servers-{os.getpid()}-{os.urandom(4).hex()}.json"
        self._started: dict[str, Started] = {}

    def note(self, server: str, mark: str, process: ProcessId | None = None) -> None:
        pid, started = (process.pid, process.started) if process else (0, "")
        self._started[mark] = Started(server, mark, pid, started)
        self._write()

    def forget(self, mark: str) -> None:
        """A record that cannot be taken back names a process that is gone, which does no harm."""
        if self._started.pop(mark, None):
            with contextlib.suppress(OSError):
                self._write()

    def _write(self) -> None:
        if not self._started:
            self._file.unlink(missing_ok=True)
            return
        document = {
            "machine": machine(),
            "owner": asdict(self._owner),
            "servers": [asdict(each) for each in self._started.values()],
        }
        write_atomic(self._file, json.dumps(document, indent=1), mode=0o600)

    async def end_orphans(self) -> list[str]:
        """Ends the servers of processes that are dead, and only those. Their names."""
        ended: list[str] = []
        for file in sorted(self.folder.glob("servers-*.json")):
            if file != self._file:
                ended += await _clear(file)
        return ended


async def _clear(file: Path) -> list[str]:
    document = _read(file)
    if document is None:
        return []
    if document["machine"] != machine():
        _drop_when_old(file)
        return []
    if ProcessId(**document["owner"]).alive:
        return []
    ended = []
    for each in document["servers"]:
        started = Started(**each)
        family = ProcessTree(started.process, started.mark)
        if family.members():
            ended.append(started.server)
            await family.end()
    file.unlink(missing_ok=True)
    return ended


def _read(file: Path) -> Any:
    """None for a file that vanished meanwhile, or that is not one of ours."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        return document if {"machine", "owner", "servers"} <= document.keys() else None
    except (OSError, ValueError, AttributeError):
        return None


def _drop_when_old(file: Path) -> None:
    """Of another boot or container: its pids mean nothing here."""
    with contextlib.suppress(OSError):
        if time.time() - file.stat().st_mtime > _FOREIGN_DAYS * 86400:
            file.unlink()
