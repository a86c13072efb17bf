"""The one tree an agent sees. What is not in it does not exist, and no path or link leads out."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from colleague.agent.tools.fence import Fence
from colleague.agent.tools.folder import OpenFolder, TreeEntry, open_real
from colleague.agent.tools.mounts import Mounts, plain
from colleague.agent.tools.path import (
    MissingPath,
    PathError,
    composed,
    escaped,
    is_outside,
    join,
    split,
    split_outside,
)
from colleague.agent.tools.staged import Staged, remove_temporary
from colleague.file_stamp import FileStamp

MOST_BYTES_READ = 16_000_000
MOST_BYTES_WRITTEN = 4_000_000
MOST_ENTRIES_WALKED = 50_000
OUTSIDE = "/"
"""The root of a tree that also reaches the rest of the disk."""
NOT_WALKED = frozenset({".git", ".venv", "__pycache__", "node_modules"})


@dataclass(frozen=True)
class Root:
    """A real folder under a name of the tree. The text of a `trusted` one is our own word; of any other it is
    data, with a source that begins with `label`."""

    folder: Path
    writable: bool = False
    trusted: bool = False
    label: str = "file"


@dataclass(frozen=True)
class Content:
    """A file as it was read; `path` is spelled as on disk."""

    path: str
    data: bytes
    stamp: FileStamp


@dataclass(frozen=True)
class TreeListing:
    """All that is below a folder, unless it was too much."""

    entries: list[TreeEntry]
    complete: bool


@dataclass(frozen=True)
class _Place:
    """A path, resolved to a root and the names below it. The top of several roots has no root."""

    root: str | None
    names: tuple[str, ...]

    @property
    def path(self) -> str:
        inner = "/".join(self.names)
        return join(self.root, inner) if self.root and inner else self.root or inner

    @property
    def folder(self) -> _Place:
        return _Place(self.root, self.names[:-1])


class Tree:
    """Folders by name. The name "" is for a tree that is one folder: its content is the top, and other roots
    may lie below it, such as `skills/pdf`. What it has itself in the place of one is never seen.

    That one may be reached through a link, as the person who set it up wants; a named root may not be one.
    A `hidden` file is read by those who know its path; no list, search or suggestion shows it. A file of
    `mounts` really lies elsewhere, under the same name; what its root has in that place is never seen.
    What the `fence` closes is in no list and cannot be opened, whatever path leads to it. With `outside`,
    absolute paths reach the rest of the disk, apart from what that fence closes as well."""

    def __init__(
        self,
        roots: Mapping[str, Root],
        *,
        hidden: Collection[str] = frozenset(),
        mounts: Mapping[str, Path] | None = None,
        fence: Fence | None = None,
        outside: Fence | None = None,
    ) -> None:
        self._roots = dict(roots)
        self._deepest = max((name.count("/") + 1 for name in roots), default=0)
        self._hidden = frozenset(map(plain, hidden))
        self._mounts = Mounts(mounts or {})
        self._fence = fence or Fence()
        self._outer_fence = self._fence
        if outside is not None:
            own = Fence([root.folder for root in roots.values()])
            self._outer_fence = self._fence.with_more(outside).with_more(own)
            self._roots[OUTSIDE] = Root(Path(OUTSIDE), writable=True)
        self._real = {name: os.path.realpath(root.folder) for name, root in self._roots.items()}
        self.read_only = {
            name for name, root in self._roots.items() if not root.writable or self._lies_in_read_only(name)
        }
        for path in self._mounts:
            if "" not in roots and path.rpartition("/")[0].partition("/")[0] not in roots:
                raise ValueError(f"{path} cannot be mounted: it is in no folder of the tree")

    def read(self, path: str, *, most: int = MOST_BYTES_READ) -> Content:
        """A file's content. Raises PathError, Missing among them, also for more than `most` bytes."""
        place = self._file_place(path)
        with self._open_around(place) as folder:
            return self._content(place, folder, folder.required(place.names[-1]), most)

    def read_if_there(self, path: str) -> Content | None:
        """The same, for a writer: nothing at all when the file or its folder does not exist."""
        try:
            return self.read(path)
        except MissingPath:
            return None

    def entries(self, path: str) -> list[TreeEntry]:
        """What is in a folder. A root that was never written to is empty."""
        return self._entries(self._place(path))

    def walk(self, path: str) -> TreeListing:
        """All that is below a folder, folder by folder; just itself for a file."""
        if self.is_hidden(path):
            raise PathError(f"{escaped(path)} is left out of every search. Read it.")
        if self.is_file(path):
            return TreeListing([self._entry(path)], True)
        found: list[TreeEntry] = []
        for entry in self.entries(path):
            self._collect(entry, found)
        return TreeListing(found[:MOST_ENTRIES_WALKED], len(found) < MOST_ENTRIES_WALKED)

    def contents(self, entries: list[TreeEntry]) -> Iterator[Content]:
        """The files among what was walked, as far as they still exist and are not too large."""
        for entry in entries:
            if entry.kind != "file" or entry.size > MOST_BYTES_READ:
                continue
            with contextlib.suppress(PathError, OSError):
                place = self._place(entry.path)
                with self._open_around(place, exact=True) as folder:
                    content = self._content(place, folder, place.names[-1])
                yield content

    def is_file(self, path: str) -> bool:
        try:
            return self._entry(path).kind == "file"
        except PathError:
            return False

    def is_trusted(self, path: str) -> bool:
        place = self._place(path)
        if self._mounts.touch(place.path):
            return False
        if place.root is None:
            return all(each.trusted for each in self._roots.values())
        return self._roots[place.root].trusted

    def source(self, path: str) -> str:
        """What the content of a path is marked with: nothing when it is our own word."""
        if self.is_trusted(path):
            return ""
        root = self._place(path).root
        label = self._roots[root].label if root else "file"
        return f"{label}:{path or '.'}"

    def is_hidden(self, path: str) -> bool:
        """Whether a path, however it is written, is one that nobody is shown."""
        return plain(path) in self._hidden

    def is_mounted(self, path: str) -> bool:
        """Whether the file of this path really lies elsewhere."""
        return self._mounts.at(self._place(path).path) is not None

    def name_of(self, path: str) -> str:
        """A path as the tree writes it."""
        return self._place(path).path

    def inside(self, real: str) -> str | None:
        """What an absolute path of the disk is called in the tree, by its name alone; None outside of it."""
        for name, root in self._roots.items():
            for folder in {str(root.folder), str(root.folder.resolve())} if name != OUTSIDE else ():
                if real == folder:
                    return name
                if real.startswith(f"{folder}/") and ".." not in real:
                    return join(name, real.removeprefix(f"{folder}/"))
        return None

    def to_write(self, path: str) -> str:
        """The path as it is, or will be, on disk. Raises PathError when nothing can be written there."""
        try:
            place = self._file_place(path)
        except MissingPath as missing:
            raise PathError(f"{escaped(missing.path)} cannot be written. {self._writable_names()}") from None
        if place.root in self.read_only:
            raise PathError(f"{escaped(place.path)} is read only. {self._writable_names()}")
        try:
            return self._entry(path, writes=True).path
        except MissingPath as missing:
            self._guard(place, None, writes=True)
            there = [name for name in missing.folder.split("/") if name]
            new = [name for name in place.path.split("/") if name][len(there) :]
            path = "/".join((*there, *map(composed, new)))
            return join(OUTSIDE, path) if place.root == OUTSIDE else path

    def real(self, path: str) -> Path:
        """Where a path is on disk, for naming its lock; never to be opened."""
        place = self._file_place(path)
        mounted = self._mounts.at(place.path)
        if mounted is not None:
            return mounted.parent.resolve() / mounted.name
        return self._roots[place.root or ""].folder.resolve().joinpath(*place.names)

    def stage(self, path: str, data: bytes) -> Staged:
        """Writes `data` beside the file, making its folders. `path` comes from `to_write`."""
        place = self._file_place(path)
        if len(data) > MOST_BYTES_WRITTEN:
            raise PathError(
                f"{escaped(place.path)} would have {len(data):,} bytes; {MOST_BYTES_WRITTEN:,} is the most. "
                "Split it into several files."
            )
        with self._open_around(place, create=True) as folder:
            name = place.names[-1]
            self._guard(place, folder.status_if_there(name), writes=True)
            if folder.spelled(name) is None:
                folder.check_new(name)
            own = OpenFolder(os.dup(folder.descriptor), folder.path)
        return Staged(own, name, data)

    def remove(self, path: str, before: FileStamp | None) -> bool:
        """Deletes a file; False when it is no longer the one that was read. `path` comes from `to_write`."""
        place = self._file_place(path)
        with self._open_around(place, writes=True) as folder:
            name = folder.required(place.names[-1])
            status = folder.status(name)
            self._guard(place, status, writes=True)
            if FileStamp.of(status) != before:
                return False
            os.unlink(name, dir_fd=folder.descriptor)
            os.fsync(folder.descriptor)
            return True

    def clear_temporary(self, path: str) -> None:
        """Removes what a crashed write left beside a file."""
        place = self._file_place(path)
        with contextlib.suppress(MissingPath), self._open_around(place) as folder:
            remove_temporary(folder, place.names[-1])

    def _place(self, path: str) -> _Place:
        if OUTSIDE in self._roots and is_outside(path):
            return self._outside_place(path)
        try:
            names = tuple(split(path))
        except PathError as error:
            raise self._as_relative(path) or error from None
        for length in range(min(self._deepest, len(names)), 0, -1):
            root = composed("/".join(names[:length]))
            if root in self._roots:
                return _Place(root, names[length:])
        if "" in self._roots:
            return _Place("", names)
        if names and not self._below(names):
            raise MissingPath("/".join(names), "", names[0])
        return _Place(None, names)

    def _outside_place(self, path: str) -> _Place:
        """A file of the tree has one name, so it is never reached from outside."""
        place = _Place(OUTSIDE, split_outside(path))
        slip = self._as_relative(place.path)
        if slip is not None:
            raise slip
        return place

    def _below(self, names: tuple[str, ...]) -> set[str]:
        """What roots give a folder that only they make, such as `skills` of `skills/pdf`."""
        start = "".join(f"{composed(name)}/" for name in names)
        inner = [name.removeprefix(start) for name in self._roots if name.startswith(start)]
        return {name.partition("/")[0] for name in inner if name != OUTSIDE}

    def _file_place(self, path: str) -> _Place:
        place = self._place(path)
        if not place.names or place.root is None:
            what = f"{place.path} is a folder" if place.path else "The path is missing or is the top folder"
            raise PathError(f"{what}. Name a file.")
        return place

    def _as_relative(self, path: str) -> PathError | None:
        """A real path that lies in the tree is a slip that is easy to cure."""
        inside = self.inside(path)
        if inside is None:
            return None
        return PathError(f"{escaped(path)} is absolute. Here it is called {escaped(inside or '.')}.")

    def _writable_names(self) -> str:
        if "" in self._roots and self._roots[""].writable:
            return "Other files of the workspace can be written."
        names = [f"{name}/" for name, root in sorted(self._roots.items()) if root.writable and name]
        return f"Files can be written in {', '.join(names)}." if names else "Nothing can be written here."

    def _entry(self, path: str, *, writes: bool = False) -> TreeEntry:
        place = self._file_place(path)
        with self._open_around(place, writes=writes) as folder:
            name = folder.required(place.names[-1])
            self._guard(place, folder.status_if_there(name), writes=writes)
            entry = folder.entry(name)
            if entry is None:
                raise MissingPath(place.path, folder.path, name)
            return entry

    def _entries(self, place: _Place, *, exact: bool = False) -> list[TreeEntry]:
        if place.root is None:
            return [TreeEntry(join(place.path, name), "folder") for name in sorted(self._below(place.names))]
        mounted = {**self._mounts.inside(place.path), **dict.fromkeys(self._roots_in(place), False)}
        found = [self._mounted(join(place.path, name), is_file) for name, is_file in mounted.items()]
        on_disk = self._on_disk(place, exact=exact, needed=not mounted)
        found += [entry for entry in on_disk if composed(entry.name) not in mounted]
        there = [entry for entry in found if entry and not self.is_hidden(entry.path)]
        return sorted(there, key=lambda entry: entry.name)

    def _roots_in(self, place: _Place) -> set[str]:
        """The names that other roots give a folder of the root ""."""
        start = f"{composed(place.path)}/" if place.path else ""
        inner = [name for name in self._roots if "/" in name and name != OUTSIDE]
        below = (name.removeprefix(start) for name in inner if name.startswith(start))
        return {name.partition("/")[0] for name in below} if place.root == "" else set()

    def _mounted(self, path: str, is_file: bool) -> TreeEntry | None:
        """A mounted file, unless there is none; or a folder on the way to one."""
        if not is_file:
            return TreeEntry(path, "folder")
        with contextlib.suppress(PathError):
            return self._entry(path)
        return None

    def _on_disk(self, place: _Place, *, exact: bool, needed: bool) -> list[TreeEntry]:
        try:
            with self._open(place, exact=exact) as folder:
                return self._unfenced(place, folder)
        except PathError as error:
            if not needed if place.names else isinstance(error, MissingPath):
                return []
            raise

    def _unfenced(self, place: _Place, folder: OpenFolder) -> list[TreeEntry]:
        """What is in a folder, without what the fence closes."""
        entries, closed = folder.entries(), self._fence_of(place).closed
        if not closed:
            return entries
        ids, real = closed.ids(), self._real_path(place)
        return [
            entry
            for entry in entries
            if not closed.hold(join(real, entry.name), folder.status_if_there(entry.name), ids)
        ]

    def _lies_in_read_only(self, root: str) -> bool:
        return self._fence.read_only.surround(Path(self._real[root]))

    def _real_path(self, place: _Place) -> str:
        return os.path.join(self._real[place.root or ""], *place.names)  # noqa: PTH118 - made for every step

    def _fence_of(self, place: _Place) -> Fence:
        return self._outer_fence if place.root == OUTSIDE else self._fence

    def _guard(self, place: _Place, status: os.stat_result | None, *, writes: bool) -> None:
        """Raises PathError at a place that is fenced off. A mounted file lies where the runtime put it."""
        if self._mounts.at(place.path) is not None:
            return
        fence = self._fence_of(place)
        closed, kept = fence.closed, fence.read_only
        real = self._real_path(place)
        if closed and closed.hold(real, status, closed.ids()):
            what = escaped(place.path) or "The top folder"
            raise PathError(f"{what} is none of your files: the runtime keeps it for itself.")
        if writes and kept and kept.hold(real, status, kept.ids()):
            what = escaped(place.path) or "The top folder"
            raise PathError(f"{what} is read only: it is a package or a program that runs here.")

    def _collect(self, entry: TreeEntry, found: list[TreeEntry]) -> None:
        if len(found) >= MOST_ENTRIES_WALKED:
            return
        found.append(entry)
        if entry.kind != "folder" or entry.name in NOT_WALKED:
            return
        try:
            inside = self._entries(self._place(entry.path), exact=True)
        except (PathError, OSError):
            return
        for each in inside:
            self._collect(each, found)

    @contextlib.contextmanager
    def _open_around(
        self, place: _Place, *, create: bool = False, exact: bool = False, writes: bool = False
    ) -> Iterator[OpenFolder]:
        """The folder that a file is in; that of a mounted file goes by the path it has in the tree."""
        mounted = self._mounts.at(place.path)
        if mounted is None:
            with (
                self._naming_all_of(place),
                self._open(place.folder, create=create, exact=exact, writes=writes) as folder,
            ):
                yield folder
            return
        real = open_real(mounted.parent, place.folder.path, create=create)
        if real is None:
            raise MissingPath(place.path, place.folder.path, place.names[-1])
        with contextlib.closing(real):
            yield real

    @contextlib.contextmanager
    def _naming_all_of(self, place: _Place) -> Iterator[None]:
        """A folder that only other roots make is there for whoever looks: what is missing is in it."""
        try:
            yield
        except MissingPath as missing:
            if place.root == "" and self._roots_in(_Place("", split(missing.path))):
                raise MissingPath(place.path, missing.path, place.names[-1]) from None
            raise

    @contextlib.contextmanager
    def _open(
        self, place: _Place, *, create: bool = False, exact: bool = False, writes: bool = False
    ) -> Iterator[OpenFolder]:
        """Walks down to a folder, one descriptor after another, each looked at before it is gone into."""
        self._mounts.check_folder(place.path)
        writes = writes or create
        here = _Place(place.root, ())
        folder = self._open_root(place.root or "", create=create)
        try:
            self._guard(here, os.fstat(folder.descriptor), writes=writes)
            for name in place.names:
                here = _Place(here.root, (*here.names, name))
                self._guard(here, None, writes=writes)
                inner = folder.step(name, create=create, exact=exact)
                folder.close()
                folder = inner
                self._guard(here, os.fstat(folder.descriptor), writes=writes)
            yield folder
        finally:
            folder.close()

    def _open_root(self, name: str, *, create: bool) -> OpenFolder:
        folder = open_real(self._roots[name].folder, name, create=create, through_link=not name)
        if folder is None:
            raise MissingPath(name or "the top folder", "", name)
        return folder

    def _content(self, place: _Place, folder: OpenFolder, name: str, most: int = MOST_BYTES_READ) -> Content:
        self._guard(place, folder.status_if_there(name), writes=False)
        return Content(join(folder.path, name), *folder.read(name, most))
