"""Places on the disk that a tree leaves out or never changes, whatever path leads to them."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection
from functools import cached_property
from pathlib import Path

from colleague.agent.tools.path import composed
from colleague.protected import FileId, file_id


class FencedPlaces:
    """A place is known by its path, for what does not exist yet, and by device and inode, so that no hard
    link and no second mount leads to it. Those are looked up anew for every access."""

    def __init__(self, paths: Collection[Path]) -> None:
        self.paths = tuple(paths)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(folded(f"{os.path.realpath(each.parent)}/{each.name}") for each in self.paths)

    def __bool__(self) -> bool:
        return bool(self.paths)

    def ids(self) -> frozenset[FileId | None]:
        return frozenset(map(file_id, self.paths)) - {None}

    def hold(self, real: str, status: os.stat_result | None, ids: Collection[FileId | None]) -> bool:
        """Whether this is one of them; `ids` are those of a moment ago."""
        return (status is not None and (status.st_dev, status.st_ino) in ids) or folded(real) in self._names

    def surround(self, real: Path) -> bool:
        """Whether a resolved path is one of them or lies in one."""
        ids = self.ids()
        return bool(self) and any(
            self.hold(str(each), each.stat() if each.exists() else None, ids)
            for each in (real, *real.parents)
        )


class Fence:
    """`closed` places do not exist for the tools; what lies in a `read_only` one is never written."""

    def __init__(self, closed: Collection[Path] = (), read_only: Collection[Path] = ()) -> None:
        self.closed = FencedPlaces(closed)
        self.read_only = FencedPlaces(read_only)

    def with_more(self, other: Fence) -> Fence:
        """Closes and keeps what either of them does."""
        return Fence(
            (*self.closed.paths, *other.closed.paths), (*self.read_only.paths, *other.read_only.paths)
        )


def folded(path: str) -> str:
    """A path as the most generous file system compares it: no capitals, accents in one way, none unseen."""
    seen = path if path.isascii() else "".join(c for c in path if unicodedata.category(c) != "Cf")
    return composed(seen).casefold()
