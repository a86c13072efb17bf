"""What of a request a provider could reuse, and what it did reuse: digests, and the cache tokens."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from colleague.agent.models.late_tail import last_said
from colleague.agent.tracing.chat_record import ChatRecord, usage_of
from colleague.agent.tracing.record import Cleaner, Document
from colleague.agent.tracing.switches import CacheTraceSwitch

MOST_SESSIONS = 1000


@dataclass(frozen=True)
class _Segment:
    """A part of a request, in the order in which providers read it."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode(errors="replace")).hexdigest()[:16]

    def summary(self) -> Document:
        return {"characters": len(self.text), "digest": self.digest}


class CacheTrace:
    """Compares each request with the one before it in the same transcript. Used by one thread."""

    def __init__(self, switch: CacheTraceSwitch) -> None:
        self._switch = switch
        self._before: OrderedDict[tuple[str, str, str], list[str]] = OrderedDict()

    def document(self, chat: ChatRecord, cleaner: Cleaner) -> Document:
        """Digests are made of cleaned text: nobody can guess from one what was taken out."""
        segments = list(_segments(chat, cleaner))
        tools, system, tail, *messages = segments
        place = _place_of_tail(chat)
        sent = [tools, system, *messages[:place], tail, *messages[place:]]
        before = self._before_this((chat.key, chat.session, chat.model.name), sent)
        kept = _kept(before, sent)
        return {
            **chat.about(),
            "breakpoints": _breakpoints(chat, messages),
            "tools": {"count": len(chat.request.tools), **tools.summary()},
            "system": system.summary() | ({"text": system.text} if self._switch.system else {}),
            "system_tail": tail.summary() | ({"text": tail.text} if self._switch.system else {}),
            "messages": self._messages(messages),
            "unchanged_messages": sum(each in messages for each in sent[:kept]),
            "first_change": sent[kept].name if kept < min(len(before), len(sent)) else None,
            "usage": usage_of(chat.reply) if chat.reply else None,
            "reused": _share(chat),
            **({} if chat.reply else {"error": chat.error}),
        }

    def _messages(self, messages: list[_Segment]) -> Document:
        whole = _Segment("messages", "\n".join(each.text for each in messages))
        said = {"each": [json.loads(each.text) for each in messages]} if self._switch.prompt else {}
        return {"count": len(messages), **whole.summary(), **said}

    def _before_this(self, place: tuple[str, str, str], segments: list[_Segment]) -> list[str]:
        """The digests of the request before; none for the first one."""
        before = self._before.pop(place, [])
        self._before[place] = [each.digest for each in segments]
        if len(self._before) > MOST_SESSIONS:
            self._before.popitem(last=False)
        return before


def _kept(before: list[str], segments: list[_Segment]) -> int:
    """How many segments from the first on are as they were."""
    same = [old == new.digest for old, new in zip(before, segments, strict=False)]
    return same.index(False) if False in same else len(same)


def _segments(chat: ChatRecord, cleaner: Cleaner) -> Iterator[_Segment]:
    yield _Segment("tools", cleaner.json(chat.tools()))
    yield _Segment("system", cleaner.text(chat.request.system))
    yield _Segment("system_tail", cleaner.text(chat.request.system_tail))
    for number, message in enumerate(chat.messages(), start=1):
        yield _Segment(f"message {number}", cleaner.json(_lasting(message)))


def _lasting(message: Any) -> Any:
    """A message without what no provider is sent."""
    if isinstance(message, dict):
        kept = {key: value for key, value in message.items() if key not in ("timestamp", "run_id")}
        return {key: _lasting(value) if key == "parts" else value for key, value in kept.items()}
    return [_lasting(each) for each in message] if isinstance(message, list) else message


def _breakpoints(chat: ChatRecord, messages: list[_Segment]) -> list[str]:
    """After which segments Anthropic is told to cache; others find the longest known beginning themselves."""
    if chat.model.api != "anthropic-messages" or chat.model.stand_in is not None:
        return []
    said = last_said(chat.request.messages) if chat.request.system_tail else None
    places = {place for place in (said, len(messages) - 1) if place is not None and place >= 0}
    named = {"tools": chat.request.tools, "system": chat.request.system}
    return [
        *(name for name, there in named.items() if there),
        *(messages[each].name for each in sorted(places)),
    ]


def _place_of_tail(chat: ChatRecord) -> int:
    """Behind how many messages the end of the prompt is sent: `models/late_tail.py`."""
    said = last_said(chat.request.messages) if chat.model.stand_in is None else None
    return 0 if said is None else said + 1


def _share(chat: ChatRecord) -> float | None:
    """The part of the input tokens that came from the cache."""
    used = chat.reply.usage if chat.reply else None
    if used is None or not used.measured or not used.input_tokens:
        return None
    return round(used.cache_read_tokens / used.input_tokens, 3)
