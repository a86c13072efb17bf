"""Finding plugins: folders of the home and entry points of installed packages. Nothing is imported."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Literal

from colleague.files import is_there
from colleague.home import Home

GROUP = "colleague.plugins"
FILE = "plugin.py"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True)
class FoundPlugin:
    """A plugin that could be loaded. `digest` covers every file of it; empty when it cannot be read."""

    name: str
    kind: Literal["folder", "package"]
    path: Path
    digest: str = ""
    version: str = ""
    problem: str = ""
    entry_point: EntryPoint | None = None


def find_plugins(home: Home) -> dict[str, FoundPlugin]:
    """By name. A folder of the home comes before a package of the same name."""
    found = {each.name: each for each in (*_packages(), *_folders(home))}
    return dict(sorted(found.items()))


def _folders(home: Home) -> Iterator[FoundPlugin]:
    if not home.plugins.is_dir():
        return
    for folder in sorted(home.plugins.iterdir()):
        if folder.is_dir() and not folder.name.startswith((".", "__")):
            yield _folder(folder)


def _folder(folder: Path) -> FoundPlugin:
    if not NAME.fullmatch(folder.name):
        problem = f"{folder.name!r} is no name of a plugin: small letters, digits, - and _"
        return FoundPlugin(folder.name, "folder", folder, problem=problem)
    if not is_there(folder / FILE):
        return FoundPlugin(folder.name, "folder", folder, problem=f"{folder} has no {FILE}")
    return _digested(FoundPlugin(folder.name, "folder", folder))


def _packages() -> Iterator[FoundPlugin]:
    for entry in entry_points(group=GROUP):
        version = entry.dist.version if entry.dist else ""
        spec = importlib.util.find_spec(entry.module.partition(".")[0])
        origin = Path(spec.origin) if spec and spec.origin else None
        if origin is None:
            problem = f"the module {entry.module} of its entry point does not exist"
            yield FoundPlugin(entry.name, "package", Path(), version=version, problem=problem)
            continue
        path = origin.parent if origin.name == "__init__.py" else origin
        yield _digested(FoundPlugin(entry.name, "package", path, version=version, entry_point=entry))


def _digested(found: FoundPlugin) -> FoundPlugin:
    try:
        digest = digest_of_files(found.path)
    except (OSError, ValueError) as error:
        return FoundPlugin(found.name, found.kind, found.path, version=found.version, problem=str(error))
    return FoundPlugin(
        found.name, found.kind, found.path, digest, found.version, entry_point=found.entry_point
    )


def digest_of_files(path: Path) -> str:
    """Of a file, or of every file of a folder with its name. Python's own cache does not count: it is never
    read. Raises ValueError for a link that leads out, because what it leads to could change unseen."""
    total = hashlib.sha256()
    for file in _files(path):
        if not file.resolve().is_relative_to(path.resolve()):
            raise ValueError(f"{file} is a link that leads out of the plugin; put the file itself there")
        total.update(file.relative_to(path).as_posix().encode("utf-8", "surrogateescape") + b"\0")
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def _files(path: Path) -> list[Path]:
    """Raises OSError for a folder that cannot be read."""
    if path.is_file():
        return [path]
    found: list[Path] = []
    for folder, folders, names in os.walk(path, onerror=_raise):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [Path(folder) / name for name in (*folders, *names)]
    return sorted(each for each in found if each.is_symlink() or each.is_file())


def _raise(error: OSError) -> None:
    raise error
