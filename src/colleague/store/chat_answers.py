"""What an agent says in a chat on a channel: stored with the answer, sent there after the commit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from colleague.block_chunker import BlockChunking, blocks_of
from colleague.store.outbox import TO_SEND, OutboxMessage, put_in_outbox
from colleague.store.run import Run
from colleague.store.sql import select
from colleague.store.tables import outbox
from colleague.store.tx import Tx

_SENDABLE = re.compile(r"media:[0-9a-f]{64}|https?://\S+")
ANSWER = "answer"
"""The kind of such a message in the outbox."""


@dataclass(frozen=True)
class ChatTarget:
    """Where the words of a turn go beside its session. `message` is the one that is answered."""

    channel: str
    to: str
    thread: str = ""
    message: str = ""
    replies: bool = False
    """Whether every answer is a reply to that message, also where the agent does not say so."""
    most_chars: int = 4_000
    """Of one message there."""
    history: int = 100
    """How many earlier messages of its thread an agent is told that comes into it."""

    @classmethod
    def of_place(cls, place: Mapping[str, str]) -> ChatTarget | None:
        """Of a place as messages name it; None when it is none on a channel."""
        channel, to = place.get("channel", ""), place.get("to", "")
        return cls(channel, to, place.get("thread", ""), place.get("message", "")) if channel and to else None


@dataclass(frozen=True)
class ChatWords:
    """What is said there. `reply_to` is `current`, or the id of a message."""

    text: str
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    as_voice: bool = False


def tell_chat(tx: Tx, run: Run, target: ChatTarget, position: int, words: ChatWords) -> None:
    """Puts an answer into the outbox, in parts that the channel takes. `position` is its place in the
    session."""
    media = [each for each in words.media if can_go_along(each)]
    parts = _parts(_with_left_out(words), target.most_chars)
    for number, text in enumerate(parts):
        last = number == len(parts) - 1
        body: dict[str, Any] = {
            "expert": run.expert,
            "session_key": run.session_key,
            "to": target.to,
            "thread": target.thread,
            "narrative": text,
            "media": media if last else [],
            "reply_to": _replied(target, words) if number == 0 else "",
            "as_voice": words.as_voice,
        }
        subject = f"{position}.{number}"
        put_in_outbox(tx, run.id, ANSWER, subject, target.channel, json.dumps(body, ensure_ascii=False))


def can_go_along(address: str) -> bool:
    """Whether it is something kept here, or on the web: what names a file could name any file."""
    return _SENDABLE.fullmatch(address) is not None


def _with_left_out(words: ChatWords) -> str:
    left = [each for each in words.media if not can_go_along(each)]
    note = f"(not sent along: {', '.join(left)})" if left else ""
    return "\n\n".join(each for each in (words.text, note) if each)


def _parts(text: str, most: int) -> list[str]:
    if len(text) <= most:
        return [text]
    return blocks_of(text, BlockChunking(most // 2, most))


def _replied(target: ChatTarget, words: ChatWords) -> str:
    """The id of the message that is replied to; empty when none is."""
    wanted = words.reply_to or ("current" if target.replies else "")
    return target.message if wanted == "current" else wanted


def has_earlier_unsent(tx: Tx, message: OutboxMessage) -> bool:
    """Whether something that was said before in the same turn has not been sent yet."""
    earlier = (
        outbox.c.run_id == message.run_id,
        outbox.c.kind == ANSWER,
        outbox.c.id < message.id,
        *TO_SEND,
    )
    return tx.one(select(outbox.c.id).where(*earlier).limit(1)) is not None


def result_message(told: Sequence[OutboxMessage]) -> OutboxMessage | None:
    """The one that says whether what a run came to was delivered: the last, or the first part of an answer
    that was not."""
    unsent = [each for each in told if each.kind == ANSWER and each.status != "sent"]
    return next(iter(unsent), told[-1] if told else None)


def stored_place(target: ChatTarget) -> str:
    """As JSON, for the entry of a session: where it was last spoken to."""
    kept = {name: value for name, value in asdict(target).items() if name in ("channel", "to", "thread")}
    return json.dumps({name: value for name, value in kept.items() if value}, ensure_ascii=False)
