"""Cron: each slot once, over any number of processes; a missed one leaves a row."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Any

from colleague.clock import STEP_MS, Clock, iso
from colleague.config.settings import DEDUPE_WINDOW
from colleague.duration import Duration
from colleague.experts.bindings import CatchUp
from colleague.home import Home
from colleague.packages.cron import Cron
from colleague.store.accept import Arrival
from colleague.store.schedules import (
    TriggerState,
    fire_slot,
    lock_trigger,
    settle_up_to,
    settled_within,
    skip_slot,
    unsettle_after,
)
from colleague.store.tx import Database, Tx
from colleague.store.worker import is_outside_trouble
from colleague.triggers.agent_schedules import AgentSchedules
from colleague.triggers.intake import arrival_of
from colleague.triggers.registry import BoundTrigger, TriggerRegistry
from colleague.triggers.schedule import GRACE_MS, Due, MissedSlots, due, next_slot, without_settled

log = logging.getLogger(__name__)

LONGEST_SLEEP = 1.0


@dataclass
class Scheduler:
    """Looks at the schedules of the active triggers and fires what is due."""

    home: Home
    database: Database
    registry: TriggerRegistry
    clock: Clock
    dedupe_window: Duration = DEDUPE_WINDOW
    agents: AgentSchedules | None = None
    """What agents planned themselves."""
    _looked_at: dict[tuple[str, str], int] = field(default_factory=dict)
    """When this process looked at a trigger last."""
    _failed_looks: int = 0
    """In a row, because the database or the machine was in trouble."""

    async def run(self) -> None:
        """Until it is cancelled. It wakes at the next slot, and at least every second: clocks jump."""
        while True:
            try:
                await self.fire_due()
            except Exception as error:  # noqa: BLE001 - logged
                self._note(error)
            else:
                self._note_recovery()
            await asyncio.sleep(self._pause())

    def _note(self, error: Exception) -> None:
        """An outage is one line when it begins; what fails in it every second is only counted."""
        if not is_outside_trouble(_main_cause(error)):
            log.error("the schedules could not be looked at", exc_info=error)
            return
        if not self._failed_looks:
            log.warning("the schedules cannot be looked at until this is over: %s", _main_cause(error))
        self._failed_looks += 1

    def _note_recovery(self) -> None:
        if self._failed_looks:
            log.warning("the schedules are looked at again, after %d failed looks", self._failed_looks)
            self._failed_looks = 0

    def _pause(self) -> float:
        now = self.clock.now()
        times = [
            next_slot(bound_trigger.trigger.cron, now)
            for bound_trigger in self._active()
            if bound_trigger.trigger.cron
        ]
        times.append(self.agents.soonest if self.agents else None)
        soonest = min((slot for slot in times if slot is not None), default=None)
        return LONGEST_SLEEP if soonest is None else max(0.01, min(LONGEST_SLEEP, (soonest - now) / 1000))

    async def fire_due(self) -> int:
        """Settles every slot that has come round; returns how many runs began.

        A schedule that cannot be looked at holds up no other; in the end all such are raised together."""
        begun, failed = 0, []
        for bound_trigger in self._active():
            try:
                begun += await self._look_at(bound_trigger)
            except Exception as error:  # noqa: BLE001 - raised below
                failed.append(error)
        try:
            begun += await self.agents.fire_due() if self.agents else 0
        except Exception as error:  # noqa: BLE001 - raised below
            failed.append(error)
        if failed:
            raise ExceptionGroup("some schedules could not be looked at", failed)
        return begun

    def _active(self) -> list[BoundTrigger]:
        return [
            bound_trigger
            for bound_trigger in self.registry.of_type("cron")
            if bound_trigger.trigger.cron and not bound_trigger.problem
        ]

    async def _look_at(self, bound_trigger: BoundTrigger) -> int:
        """Cheap when nothing is due: one read."""
        cron = bound_trigger.trigger.cron
        if cron is None:
            return 0
        state = await self.database.read(lambda tx: _peek(tx, bound_trigger))
        now = self.clock.now()
        if state is not None and state.last_slot is not None and state.last_slot <= now + STEP_MS:
            coming = next_slot(cron, _since(bound_trigger, state.last_slot, now))
            if coming is None or coming > now:
                self._looked_at[bound_trigger.key] = now
                return 0
        begun = await self.database.write(lambda tx: self._settle(tx, bound_trigger, cron))
        self._looked_at[bound_trigger.key] = now
        return begun

    def _settle(self, tx: Tx, bound_trigger: BoundTrigger, cron: Cron) -> int:
        """One transaction: the claim of every due slot and what comes of it."""
        expert, trigger = bound_trigger.key
        state = lock_trigger(tx, expert, trigger)
        if state.last_slot is None:
            settle_up_to(tx, expert, trigger, tx.now)
            return 0
        if state.last_slot > tx.now + STEP_MS:
            self._take_back(tx, bound_trigger)
            return 0
        found = due(cron, _catch_up(bound_trigger), _since(bound_trigger, state.last_slot, tx.now), tx.now)
        if found.newest is None:
            return 0
        if found.gap is not None:
            self._tell_gap(tx, bound_trigger, cron, found.gap)
        begun = self._act_on(tx, bound_trigger, state, found)
        settle_up_to(tx, expert, trigger, max(found.newest, state.last_slot))
        return begun

    def _take_back(self, tx: Tx, bound_trigger: BoundTrigger) -> None:
        """Times were settled that have not come: the clock was ahead, and is back.

        Another process may be the one whose clock is wrong. It would settle them again and again, so they are
        taken back only when this process comes anew, or saw its own clock go back."""
        seen = self._looked_at.get(bound_trigger.key)
        if seen is None or seen > tx.now + STEP_MS:
            unsettle_after(tx, *bound_trigger.key, tx.now)
        else:
            settle_up_to(tx, *bound_trigger.key, tx.now)

    def _tell_gap(self, tx: Tx, bound_trigger: BoundTrigger, cron: Cron, found: MissedSlots) -> None:
        settled = settled_within(tx, *bound_trigger.key, found.first, found.last)
        gap = without_settled(cron, found, settled)
        if gap is not None:
            skip_slot(tx, self._arrival(bound_trigger, gap.last), gap.last, gap.reason, gap.first)

    def _act_on(self, tx: Tx, bound_trigger: BoundTrigger, state: TriggerState, found: Due) -> int:
        for slot in found.missed:
            skip_slot(tx, self._arrival(bound_trigger, slot), slot, "missed: nothing ran at that time")
        begun = 0
        for slot in found.fire:
            arrival = self._arrival(bound_trigger, slot)
            if state.paused_at is not None:
                skip_slot(tx, arrival, slot, "paused")
                continue
            if slot < tx.now - GRACE_MS and _catches_up_on_all(bound_trigger):
                arrival = replace(arrival, max_queued=None)
            accepted = fire_slot(tx, arrival, slot)
            begun += bool(accepted and accepted.run_id)
        return begun

    def _arrival(self, bound_trigger: BoundTrigger, slot: int) -> Arrival:
        payload: dict[str, Any] = {"scheduled_at": iso(slot), "trigger": bound_trigger.trigger.name}
        return arrival_of(self.home, bound_trigger, payload, source="cron", dedupe_window=self.dedupe_window)


def _main_cause(error: BaseException) -> BaseException:
    """The first of several errors; one that is no outage goes before those that are."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = [_main_cause(each) for each in error.exceptions]
    return next((each for each in causes if not is_outside_trouble(each)), causes[0])


def _peek(tx: Tx, bound_trigger: BoundTrigger) -> TriggerState | None:
    from colleague.store.tables import triggers

    found = tx.find(
        TriggerState, triggers, {"expert": bound_trigger.key[0], "trigger_name": bound_trigger.key[1]}
    )
    return found[0] if found else None


def _catch_up(bound_trigger: BoundTrigger) -> CatchUp:
    return bound_trigger.binding.catch_up if bound_trigger.binding else CatchUp()


def _catches_up_on_all(bound_trigger: BoundTrigger) -> bool:
    """Who asks for all that was missed does not mean only as many as a schedule queues by itself."""
    limited = bound_trigger.binding is not None and bound_trigger.binding.max_queued is not None
    return _catch_up(bound_trigger).policy == "all" and not limited


def _since(bound_trigger: BoundTrigger, last_slot: int, now: int) -> int:
    """Times before an expert was enabled are not missed. A later `enabled_at` than now was a wrong clock."""
    enabled_at = bound_trigger.expert.record.enabled_at
    return max(last_slot, enabled_at if enabled_at <= now else 0)
