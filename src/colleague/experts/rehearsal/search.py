"""Looking for a value by its name in a document: the inputs, a function's outputs, an operation's result."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from colleague.experts.rehearsal.naming import splits, squeezed

_MOST_PLACES = 5_000
_MOST_ITEMS = 50
_WRITERS = ("from", "sender", "author", "customer", "contact")

Object = dict[str, Any]


def find(document: Any, name: str, *, noun: str = "") -> Iterator[Any]:
    """Values with that name, the least nested first, then those that go by another name.

    `noun` is what the document as a whole is: a `contact_id` is the `id` of a contact."""
    objects = list(_objects(document))
    yield from _under(objects, squeezed(name))
    yield from _of_nouns(objects, name)
    if noun and isinstance(document, dict):
        yield from _of_whole(document, name, squeezed(noun))
    yield from _in_lists(objects, f"{squeezed(name)}s")


def find_address(document: Any, name: str) -> Iterator[str]:
    """Email addresses: of whoever has this name, else of whoever wrote."""
    objects = list(_objects(document))
    for each in (*_under(objects, f"{squeezed(name)}email"), *_writers(objects)):
        if isinstance(each, str) and "@" in each:
            yield each


def _objects(document: Any) -> Iterator[Object]:
    """Every object in it, the outer ones first."""
    waiting = deque([document])
    for _ in range(_MOST_PLACES):
        if not waiting:
            return
        place = waiting.popleft()
        if isinstance(place, dict):
            yield place
            waiting.extend(each for each in place.values() if isinstance(each, dict | list))
        elif isinstance(place, list):
            waiting.extend(each for each in place[:_MOST_ITEMS] if isinstance(each, dict | list))


def _under(objects: Iterable[Object], name: str) -> Iterator[Any]:
    for each in objects:
        for key, value in each.items():
            if squeezed(key) == name:
                yield value


def _of_nouns(objects: list[Object], name: str) -> Iterator[Any]:
    """`customer_email` as the `email` of a `customer`, `deal_id` as the `id` of the first of `deals`."""
    for noun, field in splits(name):
        for holder in (*_under(objects, noun), *_under(objects, f"{noun}s")):
            held = holder[:_MOST_ITEMS] if isinstance(holder, list) else [holder]
            yield from _under((each for each in held if isinstance(each, dict)), field)


def _of_whole(document: Object, name: str, noun: str) -> Iterator[Any]:
    if squeezed(name) == noun:
        yield document
    for owner, field in splits(name):
        if owner == noun:
            yield from _under([document], field)


def _in_lists(objects: Iterable[Object], ending: str) -> Iterator[Any]:
    """`deal_id` as the first of `open_deal_ids`."""
    for each in objects:
        for key, value in each.items():
            if isinstance(value, list) and squeezed(key).endswith(ending):
                yield from value[:1]


def _writers(objects: list[Object]) -> Iterator[Any]:
    for name in _WRITERS:
        for writer in _under(objects, name):
            if isinstance(writer, dict):
                yield from (writer[key] for key in ("email", "address") if key in writer)
            else:
                yield writer
