"""The gmail preset: one enriched payload for each message."""

from __future__ import annotations

from typing import Any

from colleague.experts.key_text import key_text
from colleague.triggers.address import bare_address
from colleague.triggers.errors import BadPayload

ENRICHED = ("message_id", "sender_id", "contact_id", "thread_id")


def gmail_payloads(payload: Any) -> list[dict[str, Any]]:
    """`{"messages": [...]}` taken apart; each keeps what else is in it, and gets the fields of ENRICHED.

    `sender_id` and `contact_id` are the sender's bare address, null when From names nobody or several."""
    messages = payload.get("messages") if isinstance(payload, dict) else None
    if not isinstance(messages, list):
        raise BadPayload(
            "a gmail payload is an object with a list of messages",
            hint='send {"messages": [{"id": ..., "from": ...}]}, or a Pub/Sub push',
        )
    return [payload | _one(message, place) for place, message in enumerate(messages)]


def _one(message: Any, place: int) -> dict[str, Any]:
    message_id = _id(message.get("id")) if isinstance(message, dict) else None
    if message_id is None:
        raise BadPayload(
            f"messages[{place}] is no message with an id", hint="each message needs its Gmail id"
        )
    sender = bare_address(message.get("from"))
    return {
        "messages": [message],
        "message_id": message_id,
        "sender_id": sender,
        "contact_id": sender,
        "thread_id": _id(message.get("threadId")) or _id(message.get("thread_id")),
    }


def _id(value: Any) -> str | None:
    """Text as it is; a number as text. Nothing else is an id."""
    if isinstance(value, str):
        return value.strip() or None
    return key_text(value) if isinstance(value, int) and not isinstance(value, bool) else None
