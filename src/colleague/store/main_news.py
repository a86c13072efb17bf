"""What is for `main` arrives in the main session: as an event that stays unread until somebody reads it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from colleague.main_names import MAIN_AGENT, MAIN_SESSION
from colleague.run_document import QUESTIONS, short
from colleague.store.accept import Arrival, accept
from colleague.store.lanes import lock_lane
from colleague.store.outbox import CANCELLED, NO_READER, UNREAD, OutboxMessage
from colleague.store.session_entry import SessionEntry, open_session
from colleague.store.session_items import NewItem, SessionItem, add_item
from colleague.store.sql import update
from colleague.store.tables import outbox
from colleague.store.tx import Tx

SOURCE = "delivery:"
"""How the source of such an item begins; the id of what was delivered follows."""
MOST_CHARS = 4_000
LEARNING = "learning.append"
"""The operation of a question about a learning."""


def arrive_in_main(tx: Tx, messages: Sequence[OutboxMessage], *, relay: bool) -> int:
    """Adds each message to the main session, once, and leaves it unread; returns how many were new.

    `relay`: the main agent also takes a turn on it."""
    lock_lane(tx, MAIN_SESSION)
    entry = open_session(tx, MAIN_SESSION, MAIN_AGENT)
    return sum(_arrive(tx, each, entry, relay=relay) for each in messages)


def _arrive(tx: Tx, message: OutboxMessage, entry: SessionEntry, *, relay: bool) -> bool:
    new = outbox.c.id == message.id, outbox.c.status.not_in(("sent", UNREAD, CANCELLED))
    if not tx.changed(update(outbox).where(*new).values(status=UNREAD, error=NO_READER, body=message.body)):
        return False
    item = NewItem("event", news_text(message), source=f"{SOURCE}{message.id}")
    if relay:
        inputs = json.dumps({"delivery": message.id})
        arrival = Arrival(
            expert=MAIN_AGENT,
            trigger="delivery",
            source="delivery",
            payload=inputs,
            inputs=inputs,
            session_key=MAIN_SESSION,
            lane=MAIN_SESSION,
            kind="agent",
            transcript=entry.id,
        )
        accepted = accept(tx, arrival)
        item = replace(item, run_id=accepted.run_id, event_id=accepted.event_id)
    add_item(tx, MAIN_SESSION, item)
    return True


def news_text(message: OutboxMessage) -> str:
    """A message to people in words."""
    body: dict[str, Any] = json.loads(message.body)
    who = "/".join(filter(None, (body.get("expert"), body.get("process")))) or "a run"
    if message.kind in QUESTIONS:
        return _question_text(message, who, body)
    parts = [f"{message.kind} of {who} (run {short(message.run_id)})"]
    parts += [str(body[name]) for name in ("narrative", "reason", "recommendation") if body.get(name)]
    if body.get("outputs"):
        parts.append(f"Outputs: {json.dumps(body['outputs'], ensure_ascii=False)}")
    return "\n".join(parts)[:MOST_CHARS]


def _question_text(message: OutboxMessage, who: str, body: dict[str, Any]) -> str:
    operation, arguments = str(body.get("operation") or message.kind), body.get("arguments")
    if operation == LEARNING and isinstance(arguments, dict):
        head = f"{who} wants to remember: {arguments.get('title', '')}"
        arguments = {name: arguments[name] for name in ("observation", "correction") if name in arguments}
    elif message.kind == "draft":
        head = f"{who} has left a draft of {operation} for you"
    else:
        head = f"{who} asks you about {operation}"
    parts = [head, *_field_lines(arguments), str(body.get("reason") or "")]
    show = f"(colleague approval show {short(message.subject)})"
    return "\n".join([*filter(None, parts)])[: MOST_CHARS - len(show)] + f"\n{show}"


def _field_lines(arguments: Any) -> list[str]:
    if not isinstance(arguments, dict):
        return [json.dumps(arguments, ensure_ascii=False)] if arguments is not None else []
    return [f"- {name}: {_plain(value)}" for name, value in arguments.items()]


def _plain(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.replace("\n", "\n  ")


def news_in(items: Sequence[SessionItem]) -> list[str]:
    """The ids of what was delivered by these items."""
    return [each.source.removeprefix(SOURCE) for each in items if each.source.startswith(SOURCE)]


def unread_among(tx: Tx, message_ids: Collection[str]) -> list[str]:
    """Those that nobody has read. A question stays open until it is decided."""
    found = [
        each for message_id in message_ids for each in tx.find(OutboxMessage, outbox, {"id": message_id})
    ]
    return [each.id for each in found if each.status == UNREAD and each.kind not in QUESTIONS]
