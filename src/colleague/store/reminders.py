"""Messages that an agent has planned: rows with a due time. Settled times are slots, as of every schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from colleague.clock import STEP_MS
from colleague.store.record import columns_of, record
from colleague.store.sql import and_, bindparam, delete, func, or_, select
from colleague.store.tables import reminders, sql_literal, triggers
from colleague.store.tx import Tx

Kind = Literal["cron", "every", "at"]
OWNER_PREFIX = "agent:"
"""The schedules of an agent belong to `agent:<id>`. No expert can be called so."""


@dataclass(frozen=True)
class Reminder:
    """One row of `reminders`. `schedule` is a cron expression, a duration or a moment, as `kind` says."""

    agent_id: str
    name: str
    session_key: str
    message: str
    kind: Kind
    schedule: str
    zone: str
    made_by: str
    """The call that planned it: made again after a crash, it plans nothing twice."""
    created_at: int
    next_at: int

    @property
    def key(self) -> tuple[str, str]:
        """Its name among all triggers."""
        return owner_of(self.agent_id), self.name


def owner_of(agent_id: str) -> str:
    return f"{OWNER_PREFIX}{agent_id}"


def find_reminder(tx: Tx, agent_id: str, name: str) -> Reminder | None:
    found = tx.find(Reminder, reminders, {"agent_id": agent_id, "name": name})
    return found[0] if found else None


def reminder_made_by(tx: Tx, made_by: str) -> Reminder | None:
    found = tx.find(Reminder, reminders, {"made_by": made_by})
    return found[0] if found else None


def reminders_of(tx: Tx, agent_id: str | None = None) -> list[Reminder]:
    """Those of one agent or of all, the next one first."""
    where = {"agent_id": agent_id} if agent_id is not None else {}
    return tx.find(Reminder, reminders, where, order=("next_at", "agent_id", "name"))


def count_reminders(tx: Tx, agent_id: str) -> int:
    return int(tx.execute(select(func.count()).where(reminders.c.agent_id == agent_id)).scalar_one())


def add_reminder(tx: Tx, reminder: Reminder) -> None:
    """Its name may have been another's before: that one's pause and times are not its own."""
    remove_reminder(tx, reminder.agent_id, reminder.name)
    tx.insert(reminders, **vars(reminder))


def remove_reminder(tx: Tx, agent_id: str, name: str) -> bool:
    this = triggers.c.expert == owner_of(agent_id), triggers.c.trigger_name == name
    tx.execute(delete(triggers).where(*this))
    return tx.changed(delete(reminders).where(reminders.c.agent_id == agent_id, reminders.c.name == name))


def plan_next(tx: Tx, reminder: Reminder, next_at: int | None) -> None:
    """When it is due again; one that never is again is removed."""
    if next_at is None:
        remove_reminder(tx, reminder.agent_id, reminder.name)
    else:
        tx.update(reminders, {"agent_id": reminder.agent_id, "name": reminder.name}, next_at=next_at)


_OWNER = sql_literal(OWNER_PREFIX).concat(reminders.c.agent_id)
_OWN = and_(triggers.c.expert == _OWNER, triggers.c.trigger_name == reminders.c.name)
_DUE = (
    select(*columns_of(Reminder, reminders))
    .select_from(reminders.outerjoin(triggers, _OWN))
    .where(or_(reminders.c.next_at <= bindparam("now"), triggers.c.last_slot > bindparam("ahead")))
    .order_by(reminders.c.next_at)
    .limit(bindparam("most"))
)
_NEXT = select(func.min(reminders.c.next_at))


def due_reminders(tx: Tx, limit: int = 100) -> list[Reminder]:
    """What is due, and what was settled for later than now by a clock that was ahead."""
    rows = tx.rows(_DUE, now=tx.now, ahead=tx.now + STEP_MS, most=limit)
    return [record(Reminder, row) for row in rows]


def next_due(tx: Tx) -> int | None:
    [row] = tx.rows(_NEXT)
    return None if row[0] is None else int(row[0])
