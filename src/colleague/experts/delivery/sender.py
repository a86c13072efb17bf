"""Sending what is in the outbox. Accepted, run and delivered are three facts; this makes the third."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from colleague.errors import ColleagueError
from colleague.experts.delivery.hooked import HookedDeliveries, tell_sent
from colleague.experts.workspace.learnings import LearningEntry, append_entry
from colleague.experts.workspace.workspace import Workspace
from colleague.failpoints import failpoint
from colleague.hooks.events import MessageSending
from colleague.hooks.runner import NO_HOOKS, PluginHooks
from colleague.main_names import MAIN_CHANNEL
from colleague.store.activity_lines import tell_delivered, tell_unread
from colleague.store.announce import TIMEOUT_MS, announce_each
from colleague.store.approvals import LEARNINGS
from colleague.store.chat_answers import ANSWER, has_earlier_unsent
from colleague.store.main_news import arrive_in_main
from colleague.store.outbox import (
    LONGEST_PAUSE_MS,
    OutboxMessage,
    not_sent,
    sent,
    start_sending,
    waiting_announcements,
    waiting_outbox,
)
from colleague.store.tx import Database, Tx

log = logging.getLogger(__name__)

CONNECTED = (MAIN_CHANNEL,)
"""Where a package can deliver to without a plugin."""
LEARNING = "learning"
SHORTEST_PAUSE_MS = 5_000


class Channel(Protocol):
    """A way to people. Sending the same message twice must do no harm: a crash may come before *sent*."""

    async def send(self, message: OutboxMessage) -> None:
        """Raises ColleagueError when it cannot be sent now."""
        ...


@dataclass(frozen=True)
class LearningsChannel:
    """Writes approved learnings into the expert's workspace, each once."""

    workspace: Path

    async def send(self, message: OutboxMessage) -> None:
        body = json.loads(message.body)
        expert, most = body.pop("expert"), body.pop("most")
        folder = Workspace.of(self.workspace, expert).learnings
        await asyncio.to_thread(append_entry, folder, LearningEntry(**body), most)


Channels = Mapping[str, Channel | None]
"""None: nobody reads there by himself, so what is for it waits until somebody reads it."""


def channels(workspace: Path) -> dict[str, Channel | None]:
    """Those that exist here. What is for main is read with `colleague delivery read`, or by who waits for
    the run at a terminal."""
    return {MAIN_CHANNEL: None, LEARNINGS: LearningsChannel(workspace)}


@dataclass(frozen=True)
class OutboxSender:
    """Takes messages to their channels; what cannot be sent is tried again, and stays visible."""

    database: Database
    channels: Channels
    main_turn: Literal["notify", "relay"] = "notify"
    """Whether the main agent takes a turn on what is for main."""
    announce_timeout_ms: int = TIMEOUT_MS
    hooks: PluginHooks = NO_HOOKS
    _unrecorded: set[str] = field(default_factory=set)
    """Messages that were sent while the database could not take it down."""

    async def deliver_all(self) -> int:
        """Everything that can be sent now, or left to be read; returns how much it was."""
        for message_id in tuple(self._unrecorded):
            await self._record(message_id)
        results, messages = await self.database.read(
            lambda tx: (waiting_announcements(tx), waiting_outbox(tx))
        )
        told = await announce_each(self.database, results, timeout_ms=self.announce_timeout_ms)
        if self.hooks.has(MessageSending.hook):
            messages = await HookedDeliveries(self.database, self.hooks).sendable(messages)
        to_read = [message for message in messages if self.channels.get(message.channel, message) is None]
        done = told + (await self._leave_in_main(to_read) if to_read else 0)
        for message in messages:
            if message in to_read:
                tell_unread(message)
            else:
                done += await self._deliver(message)
        return done

    async def _leave_in_main(self, messages: Sequence[OutboxMessage]) -> int:
        relay = self.main_turn == "relay"
        done = await self.database.write(lambda tx: arrive_in_main(tx, messages, relay=relay))
        for message in messages if done else ():
            tell_sent(self.hooks, message)
        return done

    async def _deliver(self, message: OutboxMessage) -> bool:
        if not await self.database.write(lambda tx: _claimed(tx, message)):
            return False
        failpoint("outbox.started")
        try:
            await self._channel(message).send(message)
        except (ColleagueError, OSError) as error:
            reason = error.message if isinstance(error, ColleagueError) else str(error)
            log.warning("%s of run %s was not delivered: %s", message.kind, message.run_id, reason)
            await self._later(message, reason)
            return False
        except Exception as error:
            log.exception("%s of run %s cannot be delivered", message.kind, message.run_id)
            await self._later(message, f"{type(error).__name__}: {error}")
            return False
        failpoint("outbox.sent")
        self._unrecorded.add(message.id)
        await self._record(message.id)
        tell_delivered(message)
        tell_sent(self.hooks, message)
        return True

    async def _record(self, message_id: str) -> None:
        await self.database.write(lambda tx: sent(tx, message_id))
        self._unrecorded.discard(message_id)

    async def _later(self, message: OutboxMessage, reason: str) -> None:
        """It waits longer each time; the others go their way."""
        pause = min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** min(message.sends, 20))
        await self.database.write(lambda tx: not_sent(tx, message.id, reason, again_in_ms=pause))

    def _channel(self, message: OutboxMessage) -> Channel:
        """Learnings have a channel of their own, for nothing else: a package may name any channel."""
        channel = self.channels.get(message.channel)
        if channel is None or (message.channel == LEARNINGS and message.kind != LEARNING):
            raise ColleagueError(
                f"the channel {message.channel!r} is not connected here",
                hint=f"connected: {', '.join(self.channels)}",
            )
        return channel


def _claimed(tx: Tx, message: OutboxMessage) -> bool:
    """What an agent says arrives in the order in which it was said: a later part waits for an earlier one."""
    waits = message.kind == ANSWER and has_earlier_unsent(tx, message)
    return not waits and start_sending(tx, message)
