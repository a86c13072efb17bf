"""Sending what is in the outbox. Accepted, run and delivered are three facts; this makes the third."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from colleague.errors import ColleagueError
from colleague.experts.workspace.learnings import LearningEntry, append_entry
from colleague.experts.workspace.workspace import Workspace
from colleague.failpoints import failpoint
from colleague.store.activity_lines import tell_delivered, tell_unread
from colleague.store.approvals import LEARNINGS
from colleague.store.outbox import (
    LONGEST_PAUSE_MS,
    MAIN,
    OutboxMessage,
    leave_unread,
    not_sent,
    sent,
    start_sending,
    waiting_parcels,
)
from colleague.store.tx import Database

log = logging.getLogger(__name__)

CONNECTED = (MAIN,)
"""Where a package can deliver to: elsewhere nothing takes it yet."""
LEARNING = "learning"
SHORTEST_PAUSE_MS = 5_000


class Channel(Protocol):
    """A way to people. Sending the same parcel twice must do no harm: a crash may come before *sent*."""

    async def send(self, parcel: OutboxMessage) -> None:
        """Raises ColleagueError when it cannot be sent now."""
        ...


@dataclass(frozen=True)
class LearningsChannel:
    """Writes approved learnings into the expert's workspace, each once."""

    workspace: Path

    async def send(self, parcel: OutboxMessage) -> None:
        body = json.loads(parcel.body)
        expert, most = body.pop("expert"), body.pop("most")
        folder = Workspace.of(self.workspace, expert).learnings
        await asyncio.to_thread(append_entry, folder, LearningEntry(**body), most)


Channels = Mapping[str, Channel | None]
"""None: nobody reads there by himself, so what is for it waits until somebody reads it."""


def channels(workspace: Path) -> dict[str, Channel | None]:
    """Those that exist here. What is for main is read with `colleague delivery read`, or by who waits for
    the run at a terminal."""
    return {MAIN: None, LEARNINGS: LearningsChannel(workspace)}


@dataclass(frozen=True)
class OutboxSender:
    """Takes parcels to their channels; what cannot be sent is tried again, and stays visible."""

    database: Database
    channels: Channels
    _unrecorded: set[str] = field(default_factory=set)
    """Parcels that were sent while the database could not take it down."""

    async def deliver_all(self) -> int:
        """Everything that can be sent now, or left to be read; returns how much it was."""
        for parcel_id in tuple(self._unrecorded):
            await self._record(parcel_id)
        parcels = await self.database.read(waiting_parcels)
        to_read = [parcel.id for parcel in parcels if self.channels.get(parcel.channel, parcel) is None]
        done = await self.database.write(lambda tx: leave_unread(tx, to_read)) if to_read else 0
        for parcel in parcels:
            if parcel.id in to_read:
                tell_unread(parcel)
            else:
                done += await self._deliver(parcel)
        return done

    async def _deliver(self, parcel: OutboxMessage) -> bool:
        if not await self.database.write(lambda tx: start_sending(tx, parcel)):
            return False
        failpoint("parcel.started")
        try:
            await self._channel(parcel).send(parcel)
        except (ColleagueError, OSError) as error:
            reason = error.message if isinstance(error, ColleagueError) else str(error)
            log.warning("%s of run %s was not delivered: %s", parcel.kind, parcel.run_id, reason)
            await self._later(parcel, reason)
            return False
        except Exception as error:
            log.exception("%s of run %s cannot be delivered", parcel.kind, parcel.run_id)
            await self._later(parcel, f"{type(error).__name__}: {error}")
            return False
        failpoint("parcel.sent")
        self._unrecorded.add(parcel.id)
        await self._record(parcel.id)
        tell_delivered(parcel)
        return True

    async def _record(self, parcel_id: str) -> None:
        await self.database.write(lambda tx: sent(tx, parcel_id))
        self._unrecorded.discard(parcel_id)

    async def _later(self, parcel: OutboxMessage, reason: str) -> None:
        """It waits longer each time; the others go their way."""
        pause = min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** min(parcel.sends, 20))
        await self.database.write(lambda tx: not_sent(tx, parcel.id, reason, again_in_ms=pause))

    def _channel(self, parcel: OutboxMessage) -> Channel:
        """Learnings have a channel of their own, for nothing else: a package may name any channel."""
        channel = self.channels.get(parcel.channel)
        if channel is None or (parcel.channel == LEARNINGS and parcel.kind != LEARNING):
            raise ColleagueError(
                f"the channel {parcel.channel!r} is not connected here",
                hint=f"connected: {', '.join(self.channels)}",
            )
        return channel
