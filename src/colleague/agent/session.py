"""A session of a run: what is said in it, and what it runs with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from colleague.agent.conversation import Conversation
from colleague.agent.events import EventBus
from colleague.agent.models.connections import Connections
from colleague.agent.models.delta import Delta
from colleague.agent.run_spec import RunSpec
from colleague.agent.streaming.answer import AnswerReader
from colleague.agent.streaming.payloads import message_updates
from colleague.agent.tracing.tracer import Tracer
from colleague.hooks.runner import NO_HOOKS, PluginHooks
from colleague.run_event import Kind
from colleague.store.journal import Call


@dataclass(frozen=True)
class Session:
    """A conversation with its RunSpec, and the bus that its events go to."""

    conversation: Conversation
    run_spec: RunSpec
    bus: EventBus
    connections: Connections
    tracer: Tracer = field(default_factory=Tracer)
    hooks: PluginHooks = NO_HOOKS
    reader: AnswerReader = field(default_factory=AnswerReader)
    """Reads the answer that comes now."""
    sampling: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    """Servers ask a model one after another, so that each request is paid for before the next is judged."""

    @property
    def run_id(self) -> str:
        return self.conversation.run.id

    def tell(self, kind: Kind, **data: Any) -> None:
        """Lets the watchers know, without what is private."""
        if self.run_spec.quiet:
            return
        if kind in ("message_start", "message_retry"):
            self.reader.restart()
            self.conversation.begin_answer()
        private = self.run_spec.private
        self.bus.tell(kind, self.run_id, **(private.redact_document(data) if private else data))

    def tell_delta(self, delta: Delta) -> None:
        """Tells what a piece of an answer adds to what people see, or may see, of it."""
        for update in message_updates(self.reader.add(delta)):
            self.conversation.note_told(update.get("text", ""), void=update.get("void", False))
            self.tell("message_update", **update)

    def child(self, call: Call, run_spec: RunSpec) -> Session:
        """The session that a call is, inside the same run."""
        conversation = self.conversation.child(call.id)
        return replace(self, conversation=conversation, run_spec=run_spec, reader=AnswerReader())
