"""Google Pub/Sub push: the envelope in which Gmail says that a mailbox changed."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from colleague.triggers.address import bare_address
from colleague.triggers.errors import BadPayload

_MOST_DATA = 16_384
_NUMBER = re.compile(r"[0-9]{1,20}")
_HINT = "point the Pub/Sub subscription of Gmail's watch at this address, with payload unwrapping off"


@dataclass(frozen=True)
class GmailPush:
    """Mail of `email_address` changed up to `history_id`. Repeats have the same `message_id`."""

    message_id: str
    subscription: str
    publish_time: str
    email_address: str
    history_id: int


def is_push(payload: Any) -> bool:
    """Whether it has the shape of an envelope, whatever is inside."""
    return (
        isinstance(payload, dict) and "messages" not in payload and isinstance(payload.get("message"), dict)
    )


def read_push(payload: Any) -> GmailPush:
    """Raises BadPayload, naming the part, when this is no push of Gmail's."""
    if not is_push(payload):
        raise _bad("there is no message in it")
    message = payload["message"]
    change = _change(message.get("data"))
    address = bare_address(change.get("emailAddress"))
    if address is None:
        raise _bad("emailAddress in its data is no address")
    return GmailPush(
        message_id=_text(message, "messageId") or _text(message, "message_id") or _none("messageId"),
        subscription=_text(payload, "subscription"),
        publish_time=_text(message, "publishTime") or _text(message, "publish_time"),
        email_address=address,
        history_id=_history_id(change.get("historyId")),
    )


def _change(data: Any) -> dict[str, Any]:
    """What the data says, standard or URL-safe base64 of a JSON object."""
    if not isinstance(data, str) or not 0 < len(data) <= _MOST_DATA:
        raise _bad(f"message.data is no text of 1 to {_MOST_DATA} characters")
    try:
        padded = data.rstrip("=") + "=" * (-len(data.rstrip("=")) % 4)
        change = json.loads(base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True))
    except (ValueError, RecursionError):
        raise _bad("message.data is no JSON in base64") from None
    if not isinstance(change, dict):
        raise _bad("message.data holds no object")
    return change


def _history_id(value: Any) -> int:
    text = str(value) if isinstance(value, int) and abs(value) < 10**20 else value
    if isinstance(value, bool) or not isinstance(text, str) or _NUMBER.fullmatch(text) is None:
        raise _bad("historyId in its data is no number")
    return int(text)


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str) or len(value) > 500 or not value.isprintable():
        raise _bad(f"{name} is no text of up to 500 characters")
    return value


def _none(name: str) -> str:
    raise _bad(f"it has no {name}")


def _bad(why: str) -> BadPayload:
    return BadPayload(f"this is no Pub/Sub push of Gmail's: {why}", hint=_HINT)
