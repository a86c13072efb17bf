"""Every version is kept and can be put back."""

from __future__ import annotations

from functools import partial

import pytest

from colleague.errors import NotFound
from colleague.store.tx import Tx
from colleague.store.versions import (
    A_PERSON,
    Author,
    FileKey,
    SeenText,
    StaleVersion,
    get_version,
    has_seen,
    history,
    latest_version,
    pending_version,
    record_change,
    record_read,
    record_version,
    restore,
    settle_pending,
    version_of_call,
)
from tests.integration.tools.desk import OWNER, Desk, Session

KEY = FileKey(OWNER, "state/pipeline.md")
CALL = Author("run-1", "c1")


def test_versions_are_numbered_by_owner_and_path(desk: Desk) -> None:
    async def record(session: Session) -> None:
        for key in (KEY, FileKey("other", KEY.path), FileKey(OWNER, "state/b.md")):
            for data in (b"one", b"two"):
                await session.database.write(lambda tx, key=key, data=data: record_version(tx, key, data))
        found = await session.database.read(lambda tx: history(tx, KEY))
        assert [(version.number, version.text) for version in found] == [(2, "two"), (1, "one")]
        assert await session.database.read(lambda tx: latest_version(tx, KEY)) == found[0]
        assert await session.database.read(lambda tx: get_version(tx, KEY, 1)) == found[1]
        assert await session.database.read(lambda tx: latest_version(tx, FileKey("x", "y"))) is None
        assert await session.database.read(lambda tx: history(tx, KEY, limit=1)) == found[:1]

    desk.run(record)


def test_a_version_that_is_not_there(desk: Desk) -> None:
    with pytest.raises(NotFound, match=r"state/pipeline.md of sales has no version 9"):
        desk.run(lambda session: session.database.read(lambda tx: get_version(tx, KEY, 9)))


def test_a_change_records_what_was_there_first(desk: Desk) -> None:
    async def change(session: Session) -> None:
        made = await session.database.write(
            lambda tx: record_change(tx, KEY, b"theirs", b"mine", CALL, latest=0)
        )
        assert made.number == 2
        pending = await session.database.read(lambda tx: pending_version(tx, KEY))
        assert (pending.number, pending.before) == (2, (await first(session)).hash)
        assert await session.database.read(lambda tx: version_of_call(tx, "c1")) == made
        await session.database.write(lambda tx: settle_pending(tx, KEY))
        assert await session.database.read(lambda tx: pending_version(tx, KEY)) is None

    async def first(session: Session):  # type: ignore[no-untyped-def]  # noqa: ANN202, RUF100
        return await session.database.read(lambda tx: get_version(tx, KEY, 1))

    desk.run(change)


def test_a_stale_writer_records_nothing(desk: Desk) -> None:
    async def change(session: Session) -> None:
        await session.database.write(lambda tx: record_version(tx, KEY, b"one"))
        with pytest.raises(StaleVersion):
            await session.database.write(lambda tx: record_change(tx, KEY, b"one", b"two", CALL, latest=0))
        assert len(await session.database.read(lambda tx: history(tx, KEY))) == 1

    desk.run(change)


def test_restore_is_a_new_version(desk: Desk) -> None:
    async def change(session: Session) -> list[str]:
        await session.database.write(lambda tx: record_version(tx, KEY, b"one"))
        await session.database.write(lambda tx: record_version(tx, KEY, b"two"))
        await session.database.write(lambda tx: restore(tx, KEY, 1, b"by a person", A_PERSON, latest=2))
        return [version.text for version in await session.database.read(lambda tx: history(tx, KEY))]

    assert desk.run(change) == ["one", "by a person", "two", "one"]


def test_restoring_the_file(desk: Desk) -> None:
    desk.call("read", path=KEY.path)
    before = desk.file(KEY.path).read_text()
    desk.call("write", path=KEY.path, text="two")
    desk.file(KEY.path).write_text("by a person")
    written = desk.run(lambda session: session.files.restore(KEY.path, 1))
    assert written.version is not None
    assert desk.file(KEY.path).read_text() == before
    assert [version.text for version in desk.versions()] == [before, "two", "by a person", before]
    desk.run(lambda session: session.files.restore(KEY.path, 3))
    assert desk.file(KEY.path).read_text() == "by a person"
    assert desk.run(lambda session: session.files.restore(KEY.path, 3)).version is None
    with pytest.raises(NotFound):
        desk.run(lambda session: session.files.restore(KEY.path, 99))


SEEN: list[tuple[list[tuple[int, int, int]], bool]] = [
    ([], False),
    ([(0, 10, 10)], True),
    ([(0, 9, 10)], False),
    ([(5, 10, 10), (0, 5, 10)], True),
    ([(5, 10, 10), (0, 4, 10)], False),
    ([(0, 8, 10), (2, 4, 10), (8, 10, 10)], True),
    ([(0, 3, 10), (0, 0, 0)], True),
    ([(0, 0, 0)], True),
]


def test_seen_part_by_part(desk: Desk) -> None:
    async def read(session: Session) -> None:
        for number, (parts, seen) in enumerate(SEEN):
            run = f"run-{number}"
            await session.database.write(partial(note, run=run, parts=parts))
            assert await session.database.read(partial(look, KEY, run, "h")) is seen
            assert not await session.database.read(partial(look, KEY, run, "other hash"))
            assert not await session.database.read(partial(look, KEY, "other run", "h"))
            assert not await session.database.read(partial(look, FileKey("other", KEY.path), run, "h"))

    def note(tx: Tx, run: str, parts: list[tuple[int, int, int]]) -> None:
        for number, part in enumerate(parts):
            record_read(tx, KEY, run, str(number), SeenText("h", *part))

    def look(key: FileKey, run: str, version_hash: str, tx: Tx) -> bool:
        return has_seen(tx, key, run, version_hash)

    desk.run(read)
