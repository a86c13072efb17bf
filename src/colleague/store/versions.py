"""Every version of a file that is written here, and what each run has seen of it."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache

from colleague.errors import NotFound
from colleague.store.row import Row
from colleague.store.sql import Expression, Select, Table, bindparam, delete, exists, insert, or_, select
from colleague.store.tables import file_pending, file_reads, file_versions
from colleague.store.tx import Tx

ABSENT = ""
"""The hash of a file that does not exist."""

_ENCODED = "base64:"


@dataclass(frozen=True)
class FileKey:
    """A file by its owner (an expert, or `main`) and its path in the owner's tree."""

    owner: str
    path: str


@dataclass(frozen=True)
class Author:
    """The call that writes. A person's own edit has neither run nor call."""

    run_id: str | None = None
    call_id: str | None = None


A_PERSON = Author()


@dataclass(frozen=True)
class Version:
    """One row of `file_versions`."""

    key: FileKey
    number: int
    hash: str
    data: bytes
    author: Author
    written_at: int

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Pending:
    """A recorded version whose rename may not have happened."""

    key: FileKey
    number: int
    before: str


@dataclass(frozen=True)
class SeenText:
    """The part of a text that a run was shown: characters `first` to `last` of `size`."""

    hash: str
    first: int
    last: int
    size: int


class StaleVersion(Exception):
    """Someone recorded another version since the writer looked."""


def hash_of(data: bytes | None) -> str:
    """What a version is known by; ABSENT for a file that does not exist."""
    return ABSENT if data is None else hashlib.sha256(data).hexdigest()


def record_version(tx: Tx, key: FileKey, data: bytes, author: Author = A_PERSON) -> Version:
    """Adds the next version of a file."""
    newest = latest_version(tx, key)
    version = Version(key, newest.number + 1 if newest else 1, hash_of(data), data, author, tx.now)
    tx.execute(
        insert(file_versions).values(
            expert=key.owner,
            path=key.path,
            version=version.number,
            hash=version.hash,
            text=_stored(data),
            run_id=author.run_id,
            call_id=author.call_id,
            written_at=tx.now,
        )
    )
    return version


def keep_text(tx: Tx, key: FileKey, data: bytes) -> None:
    """Records a text that is about to go, when nobody did."""
    newest = latest_version(tx, key)
    if newest is None or newest.hash != hash_of(data):
        record_version(tx, key, data)


def record_change(
    tx: Tx, key: FileKey, before: bytes | None, after: bytes, author: Author, *, latest: int
) -> Version:
    """Records that `after` is about to replace `before`, which is recorded first when nobody did.

    `latest` is the newest version the writer knows of (0 for none). The version is pending until
    `settle_pending` says that it is in its file."""
    newest = latest_version(tx, key)
    if (newest.number if newest else 0) != latest:
        raise StaleVersion(key.path)
    if before is not None and (newest is None or newest.hash != hash_of(before)):
        record_version(tx, key, before)
    version = record_version(tx, key, after, author)
    settle_pending(tx, key)
    tx.execute(
        insert(file_pending).values(
            expert=key.owner, path=key.path, version=version.number, before=hash_of(before)
        )
    )
    return version


def restore(
    tx: Tx, key: FileKey, number: int, before: bytes | None, author: Author, *, latest: int
) -> Version:
    """An old version as the newest one. The caller puts it into its file, as after `record_change`."""
    return record_change(tx, key, before, get_version(tx, key, number).data, author, latest=latest)


def withdraw(tx: Tx, version: Version) -> None:
    """Takes back a change that never reached its file."""
    tx.execute(
        delete(file_versions).where(
            *_is(file_versions, version.key), file_versions.c.version == version.number
        )
    )
    settle_pending(tx, version.key)


def latest_version(tx: Tx, key: FileKey) -> Version | None:
    found = history(tx, key, limit=1)
    return found[0] if found else None


def history(tx: Tx, key: FileKey, *, limit: int = 100) -> list[Version]:
    """The newest versions of a file, newest first."""
    query = select(file_versions).where(*_is(file_versions, key))
    rows = tx.all(query.order_by(file_versions.c.version.desc()).limit(limit))
    return [_version_from(row) for row in rows]


def get_version(tx: Tx, key: FileKey, number: int) -> Version:
    row = tx.one(select(file_versions).where(*_is(file_versions, key), file_versions.c.version == number))
    if row is None:
        owner = key.owner.removeprefix("agent:")
        hint = f"see them with: colleague state history {owner} {key.path}"
        raise NotFound(f"{key.path} of {owner} has no version {number}", hint=hint)
    return _version_from(row)


def version_of_call(tx: Tx, call_id: str) -> Version | None:
    """The version that a call has made, whatever happened to it afterwards."""
    row = tx.one(select(file_versions).where(file_versions.c.call_id == call_id))
    return _version_from(row) if row else None


def pending_versions(tx: Tx, owner: str) -> list[Pending]:
    rows = tx.all(select(file_pending).where(file_pending.c.expert == owner).order_by(file_pending.c.path))
    return [_pending_from(row) for row in rows]


def pending_version(tx: Tx, key: FileKey) -> Pending | None:
    row = tx.one(select(file_pending).where(*_is(file_pending, key)))
    return _pending_from(row) if row else None


def settle_pending(tx: Tx, key: FileKey) -> None:
    """The newest version is in its file, or a person has put something newer there."""
    tx.execute(delete(file_pending).where(*_is(file_pending, key)))


def owners_with_pending(tx: Tx) -> list[str]:
    return [row[0] for row in tx.all(select(file_pending.c.expert).distinct())]


def files_written_by(tx: Tx, owner: str, run_id: str) -> list[str]:
    """Paths whose newest version this run has written."""
    return [row[0] for row in tx.execute(_written(), {"owner": owner, "run": run_id})]


@cache
def _written() -> Select:
    mine, newer = file_versions.alias(), file_versions.alias()
    later = exists().where(
        newer.c.expert == mine.c.expert, newer.c.path == mine.c.path, newer.c.version > mine.c.version
    )
    by_run = mine.c.expert == bindparam("owner"), mine.c.run_id == bindparam("run")
    return select(mine.c.path).where(*by_run, ~later).order_by(mine.c.path)


def forget_owner(tx: Tx, owner: str) -> None:
    """Every version of an owner that is no more, such as a dry run."""
    for table in (file_versions, file_pending, file_reads):
        own = table.c.expert.startswith(f"{owner}#")
        tx.execute(delete(table).where(or_(table.c.expert == owner, own)))


def forget_session_files(tx: Tx, owner: str, run_id: str) -> None:
    """The versions of the files that one isolated session had for itself."""
    own = file_versions.c.expert.startswith(f"{owner}#")
    tx.execute(delete(file_versions).where(own, file_versions.c.run_id == run_id))


def record_read(tx: Tx, key: FileKey, run_id: str, call_id: str, seen: SeenText) -> None:
    """A call showed its run a part of a text. A call that is repeated shows only what it says last."""
    tx.execute(delete(file_reads).where(file_reads.c.run_id == run_id, file_reads.c.call_id == call_id))
    tx.execute(
        insert(file_reads).values(
            run_id=run_id,
            call_id=call_id,
            expert=key.owner,
            path=key.path,
            hash=seen.hash,
            first=seen.first,
            last=seen.last,
            size=seen.size,
        )
    )


def has_seen(tx: Tx, key: FileKey, run_id: str, version_hash: str) -> bool:
    """Whether a run was shown the whole of a text, at once or part by part."""
    reads = file_reads.c
    query = select(reads.first, reads.last, reads.size).where(
        *_is(file_reads, key), reads.run_id == run_id, reads.hash == version_hash
    )
    rows = tx.all(query.order_by(reads.first))
    reached = 0
    for row in rows:
        if row.first > reached:
            break
        reached = max(reached, row.last)
    return bool(rows) and reached >= min(row.size for row in rows)


def _is(table: Table, key: FileKey) -> tuple[Expression, Expression]:
    return table.c.expert == key.owner, table.c.path == key.path


def _version_from(row: Row) -> Version:
    return Version(
        key=FileKey(row.expert, row.path),
        number=row.version,
        hash=row.hash,
        data=_loaded(row.text),
        author=Author(row.run_id, row.call_id),
        written_at=row.written_at,
    )


def _pending_from(row: Row) -> Pending:
    return Pending(FileKey(row.expert, row.path), row.version, row.before)


def _stored(data: bytes) -> str:
    """Text as it is. What PostgreSQL refuses as text (a NUL, not UTF-8) is encoded, so nothing is lost."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = _ENCODED
    if "\0" in text or text.startswith(_ENCODED):
        return _ENCODED + base64.b64encode(data).decode()
    return text


def _loaded(text: str) -> bytes:
    encoded = text.removeprefix(_ENCODED)
    return text.encode() if encoded == text else base64.b64decode(encoded)
