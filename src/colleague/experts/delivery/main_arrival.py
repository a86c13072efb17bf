"""What a run tells in the main session when it has the lane of that session."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial

from colleague.experts.delivery.hooked import message_sending, tell_sent
from colleague.experts.delivery.text import DELIVERY
from colleague.hooks.events import MessageSending
from colleague.hooks.runner import NO_HOOKS, GuardFailed, PluginHooks, TextChange
from colleague.main_names import MAIN_CHANNEL, MAIN_SESSION
from colleague.store.activity_lines import tell_unread
from colleague.store.main_news import arrive_in_main
from colleague.store.outbox import OutboxMessage, cancel_sending, outbox_of
from colleague.store.run import Run
from colleague.store.sla import note_late_end
from colleague.store.tx import Tx


@dataclass(frozen=True)
class MainArrival:
    """It arrives in the commit that ends the run, so the next turn of the session begins after it. A result
    that plugins could not be asked about stays in the outbox, and nobody waits for it.

    `relay`: the main agent takes a turn on it."""

    relay: bool = False
    hooks: PluginHooks = NO_HOOKS
    change: TextChange | None = None
    """What plugins want of the result; None when none was asked."""

    async def asked(self, run: Run, text: str) -> MainArrival:
        """The same, after plugins were asked about the text of the result."""
        if run.lane != MAIN_SESSION or not self._asks:
            return self
        try:
            return replace(self, change=await message_sending(self.hooks, run, MAIN_CHANNEL, text))
        except GuardFailed:
            return self

    @property
    def _asks(self) -> bool:
        return self.hooks.has(MessageSending.hook)

    def arrive(self, tx: Tx, run: Run) -> None:
        """Everything that the run has to tell in main and that is not there yet. The lane is locked."""
        if run.lane != MAIN_SESSION:
            return
        note_late_end(tx, run)  # the end of the run would tell it, too late for this
        waiting = [each for each in outbox_of(tx, run.id) if each.status == "waiting"]
        found = [self._as_sent(tx, each) for each in waiting if each.channel == MAIN_CHANNEL]
        messages = [each for each in found if each is not None]
        if not messages:
            return
        arrive_in_main(tx, messages, relay=self.relay)
        for message in messages:
            tx.after_commit(partial(tell_unread, message))
            tx.after_commit(partial(tell_sent, self.hooks, message))

    def _as_sent(self, tx: Tx, message: OutboxMessage) -> OutboxMessage | None:
        """The message as plugins want it; None when it does not arrive now."""
        if message.kind != DELIVERY or not self._asks:
            return message
        if self.change is None:
            return None
        if self.change.refusal:
            cancel_sending(tx, message, self.change.refusal)
            return None
        if not self.change.changed_by:
            return message
        body = json.loads(message.body) | {"narrative": self.change.text}
        return replace(message, body=json.dumps(body, ensure_ascii=False))
