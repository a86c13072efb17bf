"""Texts that fit a regular expression, as far as a short walk through it can tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_REPEATS = (1, 0, 4, 16)
_MOST_CHARACTERS = 2_000
_USUAL = "aA0-_. @/:+#"


class _TooLong(Exception):
    """The text grows past any use."""


def matching_texts(pattern: str) -> Iterator[str]:
    """A few tries, shortest repetitions first; the caller checks them."""
    from re import _parser  # type: ignore[attr-defined]

    try:
        tree = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return
    for repeats in _REPEATS:
        try:
            yield _Writer(repeats).text(tree)
        except (_TooLong, RecursionError):
            return


class _Writer:
    """Writes a text for a parsed expression; what may be repeated is, `repeats` times."""

    def __init__(self, repeats: int) -> None:
        self._repeats = repeats
        self._groups: dict[int, str] = {}

    def text(self, tree: Any) -> str:
        written = ""
        for operation, argument in tree:
            written += self._part(str(operation), argument)
            if len(written) > _MOST_CHARACTERS:
                raise _TooLong
        return written

    def _part(self, operation: str, argument: Any) -> str:
        if operation.endswith("REPEAT"):
            return self._repeated(*argument)
        if operation == "SUBPATTERN":
            return self._group(argument[0], argument[-1])
        if operation == "BRANCH":
            return self.text(argument[1][0])
        if operation == "ATOMIC_GROUP":
            return self.text(argument)
        if operation == "GROUPREF":
            return self._groups.get(argument, "")
        return _character(operation, argument)

    def _repeated(self, least: int, most: Any, tree: Any) -> str:
        times = max(least, min(self._repeats, int(most)))
        if times > _MOST_CHARACTERS:
            raise _TooLong
        return "".join(self.text(tree) for _ in range(times))

    def _group(self, number: int | None, tree: Any) -> str:
        text = self.text(tree)
        if number is not None:
            self._groups[number] = text
        return text


def _character(operation: str, argument: Any) -> str:
    if operation == "LITERAL":
        return chr(argument)
    if operation == "ANY":
        return "a"
    if operation == "NOT_LITERAL":
        return next(each for each in _USUAL if ord(each) != argument)
    return _of_set(argument) if operation == "IN" else ""


def _of_set(items: Any) -> str:
    each: str
    named = [(str(operation), argument) for operation, argument in items]
    starts = [chr(argument[0]) for operation, argument in named if operation == "RANGE"]
    literals = [chr(argument) for operation, argument in named if operation == "LITERAL"]
    negated = any(operation == "NEGATE" for operation, _ in named)
    for each in [*_USUAL, *starts, *literals]:
        if any(_holds(operation, argument, each) for operation, argument in named) != negated:
            return each
    return ""


def _holds(operation: str, argument: Any, character: str) -> bool:
    if operation == "LITERAL":
        return bool(ord(character) == argument)
    if operation == "RANGE":
        return bool(argument[0] <= ord(character) <= argument[1])
    if operation != "CATEGORY":
        return False
    name = str(argument).removeprefix("CATEGORY_")
    kind = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}.get(name.removeprefix("NOT_"), "")
    return bool(kind and re.match(kind, character)) != name.startswith("NOT_")
