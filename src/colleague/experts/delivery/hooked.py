"""Results on their way to people, as plugins want them: with another text, or not at all."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from colleague.experts.delivery.text import DELIVERY
from colleague.hooks.events import MessageDelivered, MessageSending, SentKind
from colleague.hooks.runner import GuardFailed, PluginHooks, TextChange
from colleague.store.chat_answers import ANSWER
from colleague.store.outbox import OutboxMessage, cancel_sending, not_sent
from colleague.store.run import Run, get_run
from colleague.store.tx import Database

log = logging.getLogger(__name__)

ASK_AGAIN_MS = 30_000
_TOLD: Mapping[str, SentKind] = {DELIVERY: "delivery", ANSWER: "answer"}


@dataclass(frozen=True)
class HookedDeliveries:
    """Only results go through plugins. Questions and escalations reach people whatever a plugin says."""

    database: Database
    hooks: PluginHooks

    async def sendable(self, messages: Sequence[OutboxMessage]) -> list[OutboxMessage]:
        """The messages as they are to be sent. What is held back is ended, and says by whom."""
        found = [await self._one(message) for message in messages]
        return [message for message in found if message is not None]

    async def _one(self, message: OutboxMessage) -> OutboxMessage | None:
        """What was tried before is as it was decided then."""
        if message.kind != DELIVERY or message.sends:
            return message
        body = json.loads(message.body)
        run = await self.database.read(lambda tx: get_run(tx, message.run_id))
        try:
            change = await message_sending(self.hooks, run, message.channel, _text(body))
        except GuardFailed as error:
            why = str(error)
            await self.database.write(lambda tx: not_sent(tx, message.id, why, again_in_ms=ASK_AGAIN_MS))
            return None
        if change.refusal:
            log.warning("the result of run %s was %s", message.run_id, change.refusal)
            await self.database.write(lambda tx: cancel_sending(tx, message, change.refusal))
            return None
        if not change.changed_by:
            return message
        return replace(message, body=json.dumps(body | {"narrative": change.text}, ensure_ascii=False))


async def message_sending(hooks: PluginHooks, run: Run, channel: str, text: str) -> TextChange:
    """What plugins want of the result of a run. Raises GuardFailed when one that must be asked cannot be."""
    about = {"run_id": run.id, "session_key": run.session_key, "expert": run.expert}
    return await hooks.message_sending(MessageSending(**about, kind=DELIVERY, channel=channel, text=text))


def _text(body: dict[str, Any]) -> str:
    return str(body.get("narrative", ""))


def tell_sent(hooks: PluginHooks, message: OutboxMessage) -> None:
    """Of results, and of answers that a channel has taken."""
    if message.kind not in _TOLD or not hooks.has(MessageDelivered.hook):
        return
    body = json.loads(message.body)
    expert = str(body.get("expert", "")) if message.kind == DELIVERY else ""
    about = {"run_id": message.run_id, "session_key": str(body.get("session_key", "")), "expert": expert}
    kind = _TOLD[message.kind]
    hooks.tell(MessageDelivered(**about, kind=kind, channel=message.channel, text=_text(body)))
