"""The files of an agent's memory: MEMORY.md and memory/ in its workspace, and what the settings add."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from colleague.agent.tools.fence import Fence, FencedPlaces
from colleague.agent.tools.folder import TreeEntry
from colleague.agent.tools.path import MissingPath, PathError, composed, escaped, join, split
from colleague.agent.tools.tree import MOST_ENTRIES_WALKED, Content, Root, Tree

TOP_FILES = ("MEMORY.md", "memory.md")
FOLDER = "memory"
MOST_FILES = 10_000
MOST_BYTES = 2_000_000
"""Of one file. What an agent remembers is shorter; a log that somebody put there is not searched."""
EXTRA_PATHS = "agents.defaults.memorySearch.extraPaths"


@dataclass(frozen=True)
class MemoryList:
    """The files as they are now, and sentences on what is left out."""

    entries: tuple[TreeEntry, ...]
    notes: tuple[str, ...]


class MemoryFiles:
    """Reads memory through a tree: no link and no path leads out of what is remembered.

    `extra` are paths of the tree, added by the settings: folders with their Markdown files, or single files.
    `notes` say which of the settings could not be followed."""

    def __init__(self, tree: Tree, extra: Sequence[str] = (), notes: Sequence[str] = ()) -> None:
        self._tree = tree
        self._extra = tuple(extra)
        self._notes = tuple(notes)

    def listed(self) -> MemoryList:
        """Every file once, those of the workspace first."""
        notes = [*self._notes]
        found = {entry.path: entry for place in self._places() for entry in self._below(place, notes)}
        entries = tuple(found.values())
        if len(entries) > MOST_FILES:
            notes.append(f"only {MOST_FILES:,} of {len(entries):,} files were searched")
        return MemoryList(entries[:MOST_FILES], tuple(notes))

    def read(self, path: str, *, most: int = MOST_BYTES) -> Content:
        """A file of the memory. Raises PathError, Missing among them, also for any other file."""
        inside = self._tree.inside(path) or path
        names = split(inside)
        if not self._holds("/".join(map(composed, names))):
            places = " and ".join([TOP_FILES[0], f"{FOLDER}/*.md", *map(escaped, self._extra)])
            raise PathError(f"{escaped(path)} is not in the memory, which is {places}. Use read.")
        return self._tree.read(inside, most=most)

    def _places(self) -> tuple[str, ...]:
        return (*TOP_FILES, FOLDER, *self._extra)

    def _below(self, place: str, notes: list[str]) -> Iterator[TreeEntry]:
        try:
            walked = self._tree.walk(place)
        except MissingPath:
            return
        except (PathError, OSError) as error:
            notes.append(str(error).rstrip("."))
            return
        if not walked.complete:
            notes.append(f"only the first {MOST_ENTRIES_WALKED:,} entries of {escaped(place)} were looked at")
        for entry in walked.entries:
            if entry.kind != "file" or not (entry.path == place or _is_markdown(entry.path)):
                continue
            if _is_unicode(entry.path):
                yield entry
            else:
                notes.append(f"{escaped(entry.path)} has a name that is not UTF-8")

    def _holds(self, path: str) -> bool:
        if path in TOP_FILES or path in map(composed, self._extra):
            return True
        folders = (f"{composed(each)}/" if each else "" for each in (FOLDER, *self._extra))
        return _is_markdown(path) and path.startswith(tuple(folders))


def _is_unicode(path: str) -> bool:
    """Whether a name of the disk is text; other bytes are read as halves of characters."""
    return not any("\ud800" <= each <= "\udfff" for each in path)


def _is_markdown(path: str) -> bool:
    return path.casefold().endswith(".md")


def memory_files(workspace: Path, extra: Sequence[str], closed: Collection[Path]) -> MemoryFiles:
    """The memory of a workspace's agent. `extra` is as a person wrote it: absolute, or from the workspace.

    Nothing in a folder of `closed` is opened; one that the workspace lies in only closes itself."""
    own = workspace.resolve()
    fenced = FencedPlaces([each for each in closed if not own.is_relative_to(each.resolve())])
    inside, outside, notes = [], [], []
    for text in filter(None, extra):
        real = Path(os.path.normpath(workspace / os.path.expanduser(text)))  # noqa: PTH111 - ~nobody raises
        if fenced.surround(Path(os.path.realpath(real))):
            notes.append(f"{escaped(text)} of {EXTRA_PATHS} belongs to the runtime and is not searched")
        elif real.is_relative_to(workspace):
            inside.append("/".join(real.relative_to(workspace).parts))
        elif os.path.lexists(real):
            outside.append(real)
        else:
            notes.append(f"{escaped(text)} of {EXTRA_PATHS} does not exist")
    taken = {FOLDER, *TOP_FILES, *(each.partition("/")[0] for each in inside)}
    named = _named(outside, taken)
    roots = {"": Root(workspace)} | {name: Root(_folder_of(real)) for name, real in named.items()}
    places = [name if real.is_dir() else join(name, real.name) for name, real in named.items()]
    return MemoryFiles(Tree(roots, fence=Fence(closed)), [*inside, *places], notes)


def _folder_of(real: Path) -> Path:
    return real if real.is_dir() else real.parent


def _named(paths: Sequence[Path], taken: Collection[str]) -> dict[str, Path]:
    """Each path under the name of its folder, with a number where that is taken."""
    named: dict[str, Path] = {}
    for path in paths:
        plain = name = _plain_name(_folder_of(path).name)
        number = 1
        while name in named or name in taken:
            number += 1
            name = f"{plain}-{number}"
        named[name] = path
    return named


def _plain_name(name: str) -> str:
    try:
        return composed(split(name)[0])
    except (PathError, IndexError):
        return "extra"
