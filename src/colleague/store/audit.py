"""The audit log: what people decided and changed, written in the transaction of the change itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from colleague.audit_document import AuditEntry, AuditPage
from colleague.audit_file import CommandChange
from colleague.clock import iso
from colleague.origin import Origin
from colleague.store.ids import new_id
from colleague.store.lookup import full_id
from colleague.store.paging import Order
from colleague.store.sql import Expression, or_, select
from colleague.store.tables import audit
from colleague.store.tx import Database, Tx

if TYPE_CHECKING:
    from colleague.hooks.events import HookEvent
    from colleague.store.run import Hold
    from colleague.store.unfinished import UnfinishedAnswer

T = TypeVar("T")

LONGEST = 1_000
"""Characters of one text in the details."""
_ORDER = Order(audit, (audit.c.at,), descending=True)


@dataclass(frozen=True)
class Change:
    """What somebody did. Details hold no arguments of calls, which may be private."""

    action: str
    subject: str = ""
    expert: str = ""
    run_id: str | None = None
    detail: dict[str, Any] | None = None


def note_change(tx: Tx, origin: Origin, change: Change) -> None:
    tx.insert(audit, id=new_id(), at=tx.now, **_values(origin, change))
    tx.tell_pages()


def note_command(tx: Tx, made: CommandChange) -> None:
    """Writes down what a command did without the database; once, however often it is told."""
    change = Change(made.action, made.subject, made.expert, detail=dict(made.detail))
    tx.insert_once(audit, id=made.id, at=made.at, **_values(Origin(made.who, "command"), change))


def _values(origin: Origin, change: Change) -> dict[str, Any]:
    detail = {name: _bounded(value) for name, value in (change.detail or {}).items() if value}
    return {
        "who": origin.who[:LONGEST],
        "source": origin.source,
        "address": origin.address,
        "action": change.action,
        "subject": change.subject[:LONGEST],
        "expert": change.expert,
        "run_id": change.run_id,
        "detail": json.dumps(detail, ensure_ascii=False),
    }


def _bounded(value: Any) -> Any:
    return value[:LONGEST] if isinstance(value, str) else value


class AuditedDatabase:
    """A database for one change: its first write notes the change in the same transaction."""

    def __init__(self, database: Database, origin: Origin, change: Change) -> None:
        self._database, self._origin, self._change = database, origin, change
        self._noted = False
        self.shared = database.shared
        self.listeners: list[Callable[[], None]] = database.listeners
        self.watchers: list[Callable[[str], None]] = database.watchers
        self.observers: list[Callable[[HookEvent], None]] = database.observers
        self.unfinished: dict[Hold, UnfinishedAnswer] = database.unfinished

    async def write(self, work: Callable[[Tx], T]) -> T:
        if self._noted:
            return await self._database.write(work)

        def noting(tx: Tx) -> T:
            result = work(tx)
            note_change(tx, self._origin, self._change)
            return result

        result = await self._database.write(noting)
        self._noted = True
        return result

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await self._database.read(work)

    async def close(self) -> None:
        await self._database.close()

    def lease_now(self, tx: Tx) -> int:
        return self._database.lease_now(tx)


@dataclass(frozen=True)
class AuditFilter:
    """Which entries are wanted; times in milliseconds. `action` may be a noun, for all that is done to it."""

    who: str = ""
    action: str = ""
    expert: str = ""
    text: str = ""
    since: int | None = None
    until: int | None = None

    def page(self, tx: Tx, *, limit: int, after: str = "") -> AuditPage:
        """The newest first."""
        start = full_id(tx, audit, "entry of the audit log", after) if after else None
        query = select(audit).where(*self._conditions())
        found = _ORDER.page(tx, query, limit=limit, after=start)
        return {"entries": [_document(row) for row in found.items], "next_after": found.next_after}

    def _conditions(self) -> list[Expression]:
        found: list[Expression] = []
        if self.who:
            found.append(audit.c.who == self.who)
        if self.action:
            found.append(_action(self.action))
        if self.expert:
            found.append(audit.c.expert == self.expert)
        if self.since is not None:
            found.append(audit.c.at >= self.since)
        if self.until is not None:
            found.append(audit.c.at < self.until)
        return [*found, *(_says(word) for word in self.text.split())]


def _action(action: str) -> Expression:
    if "." in action:
        return audit.c.action == action
    return (audit.c.action >= f"{action}.") & (audit.c.action < f"{action}/")


def _says(word: str) -> Expression:
    columns = (audit.c.who, audit.c.action, audit.c.subject, audit.c.expert, audit.c.address, audit.c.detail)
    return or_(*(column.icontains(word) for column in (*columns, audit.c.run_id)))


def _document(row: Any) -> AuditEntry:
    return {
        "id": row.id,
        "at": iso(row.at),
        "who": row.who,
        "source": row.source,
        "address": row.address,
        "action": row.action,
        "subject": row.subject,
        "expert": row.expert,
        "run_id": row.run_id,
        "detail": json.loads(row.detail),
    }
