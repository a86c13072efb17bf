"""Files of the tree that really lie somewhere else, by their path in the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from colleague.agent.tools.path import PathError, composed, escaped


class Mounts:
    """A mounted file keeps its name. Where nothing is mounted, nothing changes."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = {plain(path): file for path, file in files.items()}
        for path, file in self._files.items():
            if composed(file.name) != path.rpartition("/")[2]:
                raise ValueError(f"{file} cannot be mounted as {path}: its name must stay the same")

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def at(self, path: str) -> Path | None:
        """Where the file of this path really is; None for one that is where it seems to be."""
        return self._files.get(composed(path))

    def inside(self, folder: str) -> dict[str, bool]:
        """The names that mounts give a folder, and whether each is a file of it (or a folder on the way)."""
        start = f"{composed(folder)}/" if folder else ""
        below = [path.removeprefix(start) for path in self._files if path.startswith(start)]
        return {path.partition("/")[0]: "/" not in path for path in below}

    def touch(self, path: str) -> bool:
        """Whether something is mounted here or below."""
        return self.at(path) is not None or bool(self.inside(path))

    def check_folder(self, path: str) -> None:
        """Refuses a folder that is a mounted file, or in one."""
        for file in self._files:
            if f"{composed(path)}/".startswith(f"{file}/"):
                raise PathError(f"{escaped(file)} is a file, not a folder. Read it.")


def plain(path: str) -> str:
    """A path as it is compared: without `.` and doubled slashes, its accents written in one way."""
    return composed("/".join(name for name in path.split("/") if name not in ("", ".")))
