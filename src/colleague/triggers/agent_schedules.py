"""The schedules of agents beside those of experts: reminders that they planned, and the regular check."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from colleague.clock import STEP_MS
from colleague.config import Settings
from colleague.store.reminders import Reminder, due_reminders, next_due
from colleague.store.schedules import trigger_states
from colleague.store.tx import Database, Tx
from colleague.triggers.heartbeat import (
    KEY,
    heartbeat_documents,
    heartbeat_message,
    heartbeat_times,
    settle_heartbeat,
)
from colleague.triggers.recurrence import Every
from colleague.triggers.reminders import reminder_documents, settle
from colleague.triggers.schedule import next_slot


@dataclass
class AgentSchedules:
    """Fires what is due. A look costs one read when nothing is."""

    database: Database
    settings: Settings
    soonest: int | None = None
    """When something is due next, as far as the last look knows."""

    async def fire_due(self) -> int:
        """How many messages were said. What cannot be said holds up nothing else; in the end it is raised."""
        times = heartbeat_times(self.settings)
        reminders, check = await self.database.read(lambda tx: self._look(tx, times))
        fired, failed = 0, []
        for reminder in reminders:
            try:
                fired += await self._settle(reminder)
            except Exception as error:  # noqa: BLE001 - raised below
                failed.append(error)
        if failed:
            raise ExceptionGroup("some reminders could not be looked at", failed)
        return fired + (await self._check(times) if check and times else 0)

    def _look(self, tx: Tx, times: Every | None) -> tuple[list[Reminder], bool]:
        """What is due now: reminders, and whether it is time for the check."""
        last = _last_check(tx) if times else None
        coming = next_slot(times, last) if times and last is not None else None
        known = [each for each in (next_due(tx), coming) if each is not None and each > tx.now]
        self.soonest = min(known, default=None)
        ahead = last is not None and last > tx.now + STEP_MS
        return due_reminders(tx), times is not None and (coming is None or coming <= tx.now or ahead)

    async def _settle(self, reminder: Reminder) -> int:
        return await self.database.write(lambda tx: settle(tx, self.settings, reminder))

    async def _check(self, times: Every) -> int:
        message = await asyncio.to_thread(heartbeat_message, self.settings)
        return await self.database.write(lambda tx: settle_heartbeat(tx, self.settings, times, message))


def _last_check(tx: Tx) -> int | None:
    state = trigger_states(tx).get(KEY)
    return state.last_slot if state else None


def agent_documents(tx: Tx, settings: Settings, owner: str = "") -> list[dict[str, Any]]:
    """The schedules of agents in the form of every trigger; of one owner (`agent:main`), or of all."""
    states = trigger_states(tx)
    found = [*heartbeat_documents(settings, states, tx.now), *reminder_documents(tx, states)]
    return [each for each in found if not owner or each["expert"] == owner]
