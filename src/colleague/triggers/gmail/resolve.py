"""From "the mailbox changed" to one event for each message: committed first, looked up afterwards.

The event that was committed is the memory: as long as it has no outcome, it is to be resolved, by this
process or by the next one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from colleague.clock import Clock
from colleague.config.settings import DEDUPE_WINDOW
from colleague.duration import Duration
from colleague.errors import ColleagueError, DatabaseUnavailable
from colleague.home import Home
from colleague.mcp.servers import Servers
from colleague.store.accept import Accepted, Arrival, Event, accept_all, skip
from colleague.store.event_report import REPEATED
from colleague.store.record import columns_of, record
from colleague.store.sql import bindparam, select
from colleague.store.tables import events, sql_literal
from colleague.store.tx import Database, Tx
from colleague.triggers.errors import BadPayload
from colleague.triggers.gmail.mailbox import CannotLook, Mailbox, MailQuery
from colleague.triggers.gmail.messages import gmail_payloads
from colleague.triggers.gmail.pubsub import GmailPush, read_push
from colleague.triggers.intake import arrival_of, fire_all
from colleague.triggers.registry import BoundTrigger, TriggerRegistry
from colleague.triggers.signature import RepeatKeys

log = logging.getLogger(__name__)

SOURCE = "pubsub"
TRIGGER = "gmail"

LOOK_EVERY = 5.0
LONGEST_PAUSE = 600.0
GIVE_UP_MS = 86_400_000
UNKNOWN_START_MS = 3_600_000


def push_arrival(expert: str, payload: Any, push: GmailPush, dedupe_ms: int) -> Arrival:
    """The raw push, for one expert. It has no run of its own."""
    return Arrival(
        expert=expert,
        trigger=TRIGGER,
        source=SOURCE,
        payload=json.dumps(payload, ensure_ascii=False),
        session_key="",
        lane=None,
        dedupe_keys=(f"pubsub:{push.message_id}",),
        dedupe_ms=dedupe_ms,
        held=True,
    )


def accept_pushes(tx: Tx, arrivals: Sequence[Arrival]) -> list[Accepted]:
    """Commits pushes. They are not held for a paused trigger; what comes of them may be."""
    found = accept_all(tx, arrivals)
    for accepted in found:
        if not accepted.duplicate:
            tx.update(events, {"id": accepted.event_id}, held=0)
    return found


@dataclass
class Resolver:
    """Looks up what came in pushes, and accepts each message as an event of its own."""

    home: Home
    database: Database
    servers: Servers
    registry: TriggerRegistry
    clock: Clock
    dedupe_window: Duration = DEDUPE_WINDOW
    _failures: dict[str, tuple[int, float]] = field(default_factory=dict)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            self._woken.clear()
            await self.resolve_all()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await self._woken.wait()

    async def resolve_all(self) -> int:
        """Everything that is open and due; returns how many events came to their end."""
        done = 0
        for event in await self.database.read(open_pushes):
            if self._failures.get(event.id, (0, 0.0))[1] <= time.monotonic():
                done += await self._try(event)
        return done

    async def _try(self, event: Event) -> bool:
        try:
            await self._resolve(event)
        except (CannotLook, BadPayload) as error:
            await self._end(event, "skipped", _sentence(error))
        except ColleagueError as error:
            return await self._later(event, error.message)
        except DatabaseUnavailable:
            raise
        except Exception as error:
            # one push that nobody can make sense of must not hold up those behind it
            log.exception("event %s could not be looked up", event.id[-8:])
            return await self._later(event, f"{type(error).__name__}: {error}")
        self._failures.pop(event.id, None)
        return True

    async def _later(self, event: Event, reason: str) -> bool:
        """Tried again, for a day."""
        if self.clock.now() - event.received_at > GIVE_UP_MS:
            await self._end(event, "skipped", f"could not be looked up for a day: {reason}")
            return True
        count = self._failures.get(event.id, (0, 0.0))[0] + 1
        pause = min(LONGEST_PAUSE, LOOK_EVERY * 2 ** min(count - 1, 10))
        self._failures[event.id] = (count, time.monotonic() + pause)
        log.warning("event %s is looked up again in %.0f s: %s", event.id[-8:], pause, reason)
        if reason != event.reason:
            await self.database.write(lambda tx: _note(tx, event, reason))
        return False

    async def _resolve(self, event: Event) -> None:
        bound_trigger = gmail_triggers(self.registry, event.expert)
        active = [each for each in bound_trigger if not each.problem]
        if not active:
            reason = bound_trigger[0].problem if bound_trigger else "the trigger was removed"
            return await self._end(event, "skipped", reason)
        push = read_push(json.loads(event.payload))
        mailbox = self._mailbox(active[0], event)
        wanted = await self.database.read(lambda tx: _wanted(tx, event, push))
        found = await mailbox.new_messages(wanted)
        about = {"email_address": push.email_address, "history_id": push.history_id}
        payloads = gmail_payloads(about | {"messages": found.messages})
        arrivals = await asyncio.to_thread(self._arrivals, active, payloads)
        await self.database.write(lambda tx: _accept_all(tx, event, arrivals, complete=found.complete))
        return None

    def _arrivals(self, bound_trigger: list[BoundTrigger], payloads: list[dict[str, Any]]) -> list[Arrival]:
        """`max_queued` turns senders away. Here nobody is left who could send again, so it does not count."""
        arrivals = [
            arrival_of(
                self.home,
                each,
                payload,
                source=SOURCE,
                dedupe_window=self.dedupe_window,
                repeat=RepeatKeys(delivery=f"gmail:{payload['message_id']}"),
            )
            for each in bound_trigger
            for payload in payloads
        ]
        return [replace(arrival, max_queued=None) for arrival in arrivals]

    def _mailbox(self, bound_trigger: BoundTrigger, event: Event) -> Mailbox:
        tool = bound_trigger.trigger.mail_tool
        binding = bound_trigger.tools.get(tool)
        if binding is None or binding.type != "mcp":
            raise CannotLook(
                f"nothing can look the new messages up: the tool {tool!r} of {event.expert} is not bound",
                hint=f"colleague expert bind {event.expert} {tool} SERVER --operation list_messages=TOOL",
            )
        return Mailbox(self.servers, binding, tool, f"resolve:{event.id}", bound_trigger.withheld(tool))

    async def _end(self, event: Event, outcome: str, reason: str) -> None:
        log.info("event %s of %s is %s: %s", event.id[-8:], event.expert, outcome, reason)
        await self.database.write(lambda tx: _close(tx, event, outcome, reason))


def gmail_triggers(registry: TriggerRegistry, expert: str | None = None) -> list[BoundTrigger]:
    """The webhook triggers with the gmail preset, of one expert or of all."""
    hooks = (each for each in registry.of_type("webhook") if each.trigger.preset == TRIGGER)
    return [each for each in hooks if expert in (None, each.expert.name)]


OPEN = (
    select(*columns_of(Event, events))
    .where(
        events.c.run_id.is_(None),
        events.c.outcome.is_(None),
        events.c.source == SOURCE,
        events.c.trigger_name == TRIGGER,
        events.c.held == 0,
    )
    .order_by(events.c.id)
)
LOOKED_UP = (
    select(events.c.payload, events.c.received_at)
    .where(
        events.c.expert == bindparam("of"),
        events.c.source == sql_literal(SOURCE),
        events.c.trigger_name == TRIGGER,
        events.c.outcome == "completed",
        events.c.id < bindparam("before"),
    )
    .order_by(events.c.id.desc())
    .limit(20)
)


def open_pushes(tx: Tx, limit: int = 100) -> list[Event]:
    """Pushes without an outcome, the oldest first."""
    return [record(Event, row) for row in tx.all(OPEN.limit(limit))]


def _wanted(tx: Tx, event: Event, push: GmailPush) -> MailQuery:
    """From where the last push of this mailbox that was looked up had come to."""
    for row in tx.execute(LOOKED_UP, {"of": event.expert, "before": event.id}):
        earlier = read_push(json.loads(row.payload))
        if earlier.email_address == push.email_address:
            return MailQuery(push.email_address, push.history_id, earlier.history_id, row.received_at)
    return MailQuery(push.email_address, push.history_id, None, event.received_at - UNKNOWN_START_MS)


def _accept_all(tx: Tx, event: Event, arrivals: list[Arrival], *, complete: bool) -> None:
    """All messages of a push and its own end, together, so that a crash leaves all or nothing of it."""
    repeated = 0
    if not _is_open(tx, event):
        return
    for arrival, accepted in zip(arrivals, fire_all(tx, arrivals), strict=True):
        if accepted.duplicate:
            repeated += 1
            skip(tx, arrival, f"{REPEATED}: event {accepted.event_id[-8:]} was first")
    told = f"{len(arrivals) - repeated} new messages, {repeated} known ones" if arrivals else "no new message"
    told += "" if complete else "; the mailbox listed no more of them, though there may be more"
    tx.update(events, {"id": event.id}, outcome="completed", reason=told)


def _note(tx: Tx, event: Event, reason: str) -> None:
    """Why it is still open, for people to see."""
    if _is_open(tx, event):
        tx.update(events, {"id": event.id}, reason=reason)


def _close(tx: Tx, event: Event, outcome: str, reason: str) -> None:
    if _is_open(tx, event):
        tx.update(events, {"id": event.id}, outcome=outcome, reason=reason)


def _is_open(tx: Tx, event: Event) -> bool:
    """Another process may have been quicker."""
    [now] = tx.find(Event, events, {"id": event.id}, lock=True)
    return now.outcome is None


def _sentence(error: ColleagueError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message
