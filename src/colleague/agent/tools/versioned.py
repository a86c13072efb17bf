"""Changing files so that nothing is lost: one writer at a time, version first, then the file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from colleague.agent.tool import UnknownEnd
from colleague.agent.tools.lock import FileBusy, file_lock
from colleague.agent.tools.page import TextPage
from colleague.agent.tools.path import escaped
from colleague.agent.tools.tree import Content, Tree
from colleague.errors import ColleagueError, DatabaseUnavailable
from colleague.failpoints import failpoint
from colleague.file_stamp import FileStamp
from colleague.store import versions
from colleague.store.database_errors import database_errors, integrity_errors
from colleague.store.tx import Database, Tx
from colleague.store.versions import (
    A_PERSON,
    Author,
    FileKey,
    Pending,
    SeenText,
    StaleVersion,
    Version,
    hash_of,
)

_MOST_TRIES = 20


class ChangeRefused(ColleagueError):
    """A change is not made. `shows` is the text that the model has to know first."""

    def __init__(self, message: str, shows: Content | None = None) -> None:
        super().__init__(message)
        self.shows = shows


@dataclass(frozen=True)
class CurrentFile:
    """A file as its writer finds it, under the lock."""

    key: FileKey
    content: Content | None
    latest: int
    seen: bool
    own: Version | None
    pending: Pending | None

    @property
    def data(self) -> bytes | None:
        return self.content.data if self.content else None

    @property
    def stamp(self) -> FileStamp | None:
        return self.content.stamp if self.content else None


@dataclass(frozen=True)
class WrittenVersion:
    """How a change ended. No version: the file had this text already."""

    path: str
    version: Version | None
    in_place: bool = True


@dataclass(frozen=True)
class FileChange:
    """What `author` makes of a file. `whole`: all of the text is the author's own, so it has seen it.

    With `expected` only a file of this hash is changed."""

    author: Author
    make: Callable[[CurrentFile], bytes]
    whole: bool = False
    expected: str | None = None


class VersionedTree:
    """The tree of one owner (an expert, or `main`), with every version of what is written in it.

    `locks` is a folder that all processes of the home share."""

    def __init__(self, tree: Tree, database: Database, owner: str, locks: Path) -> None:
        self.tree = tree
        self._database = database
        self._owner = owner
        self._locks = locks
        self._changes: set[asyncio.Task[WrittenVersion]] = set()

    async def change(self, path: str, change: FileChange) -> WrittenVersion:
        """Makes a change. A call that has made it before does not make it again.

        A caller that is cancelled leaves the change to go on to its end."""
        path = await asyncio.to_thread(self.tree.to_write, path)
        task = asyncio.create_task(self._change(FileKey(self._owner, path), change))
        self._changes.add(task)
        task.add_done_callback(self._changes.discard)
        return await asyncio.shield(task)

    async def remove(self, path: str, expected: str) -> None:
        """Deletes a file of this hash, whose text is kept as a version. One that is gone is left so."""
        path = await asyncio.to_thread(self.tree.to_write, path)
        await asyncio.shield(asyncio.create_task(self._remove(FileKey(self._owner, path), expected)))

    async def restore(self, path: str, number: int, author: Author = A_PERSON) -> WrittenVersion:
        """Puts an old version back, as a new one."""
        key = FileKey(self._owner, await asyncio.to_thread(self.tree.to_write, path))
        old = await self._database.read(lambda tx: versions.get_version(tx, key, number))
        return await self.change(path, FileChange(author, lambda _: old.data))

    async def settle(self, path: str) -> None:
        """Finishes what a crash left between a version and its file. A person's newer edit stays."""
        key = FileKey(self._owner, path)
        async with file_lock(self._locks, self.tree.real(path)):
            await self._current_file(key, A_PERSON)
            await asyncio.to_thread(self.tree.clear_temporary, path)

    async def note_read(self, run_id: str, call_id: str, content: Content, part: TextPage) -> None:
        """Remembers that a run was shown a part of a text."""
        key = FileKey(self._owner, content.path)
        seen = SeenText(hash_of(content.data), part.first, part.last, part.size)
        await self._database.write(lambda tx: versions.record_read(tx, key, run_id, call_id, seen))

    async def _remove(self, key: FileKey, expected: str) -> None:
        async with file_lock(self._locks, self.tree.real(key.path)):
            current = await self._current_file(key, A_PERSON)
            data = current.data
            if data is None:
                return
            if hash_of(data) != expected:
                raise _changed_meanwhile(current)
            await self._database.write(lambda tx: versions.keep_text(tx, key, data))
            if not await asyncio.to_thread(self.tree.remove, key.path, current.stamp):
                raise _changed_meanwhile(current)

    async def _change(self, key: FileKey, change: FileChange) -> WrittenVersion:
        async with file_lock(self._locks, self.tree.real(key.path)):
            for _ in range(_MOST_TRIES):
                current = await self._current_file(key, change.author)
                written = await self._try(current, change)
                if written is not None:
                    return written
        raise FileBusy(f"{escaped(key.path)} is changed by someone else all the time. Try again later.")

    async def _try(self, current: CurrentFile, change: FileChange) -> WrittenVersion | None:
        """None when someone else was faster, and nothing has changed then."""
        path, own = current.key.path, current.own
        if own is not None:
            return WrittenVersion(path, own, in_place=hash_of(current.data) == own.hash)
        if change.expected is not None and hash_of(current.data) != change.expected:
            raise _changed_meanwhile(current)
        data = await asyncio.to_thread(change.make, current)
        if data == current.data:
            await self._database.write(lambda tx: _note_written(tx, current, change, data))
            return WrittenVersion(path, None)
        version = await self._replace(current, data, change)
        return WrittenVersion(path, version) if version else None

    async def _current_file(self, key: FileKey, author: Author) -> CurrentFile:
        """How a file stands, once what a crash left half done is finished."""
        while True:
            content = await asyncio.to_thread(self.tree.read_if_there, key.path)
            current = await self._database.read(partial(_look, key=key, content=content, author=author))
            if current.pending is None:
                return current
            await self._finish(current, current.pending)

    async def _finish(self, current: CurrentFile, pending: Pending) -> None:
        key = current.key
        if hash_of(current.data) == pending.before:
            version = await self._database.read(lambda tx: versions.get_version(tx, key, pending.number))
            try:
                if not await self._put(current, version.data):
                    return
            except OSError as error:
                raise ChangeRefused(
                    f"Version {version.number} of {escaped(key.path)} is recorded, but cannot be put into "
                    f"its place: {error.strerror}. That is tried again with every write and at every start."
                ) from error
        await self._database.write(lambda tx: versions.settle_pending(tx, key))

    async def _put(self, current: CurrentFile, data: bytes) -> bool:
        staged = await asyncio.to_thread(self.tree.stage, current.key.path, data)
        try:
            return await asyncio.to_thread(staged.put, current.stamp)
        finally:
            staged.close()

    async def _replace(self, current: CurrentFile, data: bytes, change: FileChange) -> Version | None:
        """Version first, then the file."""
        staged = await asyncio.to_thread(self.tree.stage, current.key.path, data)
        try:
            failpoint("file.version.before")
            version = await self._record(current, data, change)
            if version is None:
                return None
            failpoint("file.version.after")
            if not await asyncio.to_thread(staged.put, current.stamp):
                await self._database.write(lambda tx: versions.withdraw(tx, version))
                return None
            await self._database.write(lambda tx: versions.settle_pending(tx, current.key))
        except database_errors(DatabaseUnavailable, OSError) as error:
            raise UnknownEnd(f"{current.key.path}: {error}") from error
        finally:
            staged.close()
        return version

    async def _record(self, current: CurrentFile, data: bytes, change: FileChange) -> Version | None:
        def record(tx: Tx) -> Version:
            _note_written(tx, current, change, data)
            return versions.record_change(
                tx, current.key, current.data, data, change.author, latest=current.latest
            )

        try:
            return await self._database.write(record)
        except integrity_errors(StaleVersion):
            return None


def _look(tx: Tx, key: FileKey, content: Content | None, author: Author) -> CurrentFile:
    newest = versions.latest_version(tx, key)
    data = content.data if content else None
    return CurrentFile(
        key=key,
        content=content,
        latest=newest.number if newest else 0,
        seen=bool(author.run_id) and versions.has_seen(tx, key, str(author.run_id), hash_of(data)),
        own=versions.version_of_call(tx, author.call_id) if author.call_id else None,
        pending=versions.pending_version(tx, key),
    )


def _note_written(tx: Tx, current: CurrentFile, change: FileChange, data: bytes) -> None:
    """A run knows what it wrote; of an edit only when it knew the text before."""
    run_id, call_id = change.author.run_id, change.author.call_id
    if run_id and call_id and (change.whole or current.seen):
        versions.record_read(tx, current.key, run_id, call_id, SeenText(hash_of(data), 0, 0, 0))


def _changed_meanwhile(current: CurrentFile) -> ChangeRefused:
    return ChangeRefused(
        f"{escaped(current.key.path)} was changed by someone else while this call was interrupted. "
        "Nothing of the call was done.",
        current.content,
    )
