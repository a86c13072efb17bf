"""The folder of trajectories: one file for each session, and a limit for all of them together."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from colleague.agent.tracing.trace_file import TraceFile

MOST_BYTES = 10_000_000
"""Of one file. Older ones of the same session are kept beside it, as those of every trace are."""
MOST_FOLDER_BYTES = 500_000_000
MOST_FILES = 20_000
PRUNE_SECONDS = 600.0

_HEADER = '{"type": "trajectory"'
_UNSAFE = re.compile(r"[^A-Za-z0-9._+@=-]")
_LONGEST_NAME = 180


def file_name(session_key: str) -> str:
    """The key with `:` as `_`. One with other characters that no file has gets a digest, so that no two keys
    share a file by that."""
    plain = session_key.replace(":", "_")
    safe = _UNSAFE.sub("_", plain).lstrip(".")[:_LONGEST_NAME]
    if safe != plain or not safe:
        digest = hashlib.sha256(session_key.encode(errors="surrogatepass")).hexdigest()
        safe = f"{safe}-{digest[:12]}"
    return f"{safe}.jsonl"


@dataclass(frozen=True)
class _Found:
    path: Path
    bytes: int
    changed: float


class TrajectoryFolder:
    """Used by one thread."""

    def __init__(
        self,
        path: Path,
        *,
        keep_seconds: float | None = None,
        most_bytes: int = MOST_FOLDER_BYTES,
        most_files: int = MOST_FILES,
    ) -> None:
        self.path = path
        self._keep_seconds = keep_seconds
        self._most_bytes, self._most_files = most_bytes, most_files
        self._pruned_at = 0.0

    def append(self, session_key: str, line: str) -> None:
        """Adds a line to the file of a session. Raises OSError."""
        header = json.dumps({"type": "trajectory", "version": 1, "session": session_key})
        TraceFile(self.path / file_name(session_key), MOST_BYTES, header=header).append(line)
        self._prune_sometimes()

    def _prune_sometimes(self) -> None:
        now = time.monotonic()
        if not self._pruned_at or now - self._pruned_at > PRUNE_SECONDS:
            self._pruned_at = now
            self.prune()

    def prune(self) -> None:
        """Removes the oldest files: what is older than runs are kept, and what is over the limits."""
        found = sorted(_files(self.path), key=lambda each: each.changed, reverse=True)
        eldest = time.time() - self._keep_seconds if self._keep_seconds is not None else 0.0
        total = 0
        for count, each in enumerate(found, start=1):
            total += each.bytes
            over = total > self._most_bytes or count > self._most_files
            if (over or each.changed < eldest) and _is_ours(each.path):
                with contextlib.suppress(OSError):
                    each.path.unlink()


def _files(folder: Path) -> Iterator[_Found]:
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if ".jsonl" not in path.name:
                continue
            with contextlib.suppress(OSError):
                about = path.lstat()
                yield _Found(path, about.st_size, about.st_mtime)


def _is_ours(path: Path) -> bool:
    """A folder that a person names may hold other files: only what begins as ours do is removed."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return path.is_file() and not path.is_symlink() and file.read(len(_HEADER)) == _HEADER
    except OSError:
        return False
