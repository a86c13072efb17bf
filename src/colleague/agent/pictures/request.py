"""Kept pictures in a transcript, at the moment a model is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from colleague.agent.models.vision import sees
from colleague.agent.pictures.media import MediaRef, load_picture
from colleague.home import Home

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, UserContent

    from colleague.agent.models.resolved import ResolvedModel

MOST_PICTURES = 20
MOST_BYTES = 20_000_000
"""Of all pictures in one request. Providers refuse more; the newest are shown."""

BLIND = "[It is not shown: this model sees no pictures.]"
GONE = "[It is not shown: its file is gone.]"
OLD = "[It is no longer shown: there are too many newer pictures.]"
REPEATED = "[It is shown further up.]"


def shown_pictures(
    home: Home, messages: Sequence[ModelMessage], model: ResolvedModel, *, always: bool = False
) -> list[ModelMessage]:
    """The transcript with each picture once, or a sentence where one is not shown. It reads files.

    The text before a picture names it, whether it is shown or not. `always`: a person chose this model for
    pictures."""
    seen = always or sees(model)
    gallery = _Gallery(_loaded(home, messages) if seen else {}, sees=seen)
    return [gallery.message(message) for message in messages]


def has_pictures(messages: Iterable[ModelMessage]) -> bool:
    return any(_items(part) for message in messages for part in message.parts)


def plain_text(content: str | Sequence[UserContent]) -> str:
    """What a person reads in place of a message's content: its text, and the names of its pictures."""
    if isinstance(content, str):
        return content
    return "\n".join(each for each in content if isinstance(each, str))


def _refs(messages: Iterable[ModelMessage]) -> list[MediaRef]:
    return [ref for message in messages for part in message.parts for ref in map(_ref, _items(part)) if ref]


def _items(part: Any) -> Sequence[Any]:
    is_message = part.part_kind == "user-prompt" and not isinstance(part.content, str)
    return part.content if is_message else ()


def _ref(item: Any) -> MediaRef | None:
    is_image = getattr(item, "kind", "") == "image-url"
    return MediaRef.of(item.url, item.media_type) if is_image else None


def _loaded(home: Home, messages: Sequence[ModelMessage]) -> dict[MediaRef, bytes | None]:
    """The newest ones that fit; those that are gone are there without bytes."""
    found: dict[MediaRef, bytes | None] = {}
    left = MOST_BYTES
    for ref in dict.fromkeys(reversed(_refs(messages))):
        data = load_picture(home, ref)
        left -= len(data or b"")
        if left < 0 or len(found) >= MOST_PICTURES:
            break
        found[ref] = data
    return found


class _Gallery:
    """Puts pictures in their places, each in the first."""

    def __init__(self, loaded: dict[MediaRef, bytes | None], *, sees: bool) -> None:
        self._loaded, self._sees = loaded, sees
        self._shown: set[MediaRef] = set()

    def message(self, message: ModelMessage) -> ModelMessage:
        if message.kind != "request" or not _refs([message]):
            return message
        return replace(message, parts=[self._part(part) for part in message.parts])

    def _part(self, part: Any) -> Any:
        items = _items(part)
        return replace(part, content=[self._item(item) for item in items]) if items else part

    def _item(self, item: Any) -> Any:
        from pydantic_ai.messages import BinaryContent

        ref = _ref(item)
        if ref is None:
            return item
        data, reason = self._loaded.get(ref), self._reason(ref)
        if data is None or reason:
            return reason or GONE
        self._shown.add(ref)
        return BinaryContent(data, media_type=ref.media_type, identifier=item.identifier)

    def _reason(self, ref: MediaRef) -> str:
        """Why a picture is not shown here; empty when it is."""
        if not self._sees:
            return BLIND
        if ref in self._shown:
            return REPEATED
        return "" if ref in self._loaded else OLD
