"""Reading typed values out of a YAML mapping, noting what is wrong and going on with the default."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

from colleague.duration import Duration, parse_duration, parse_positive_duration
from colleague.packages.finding import Findings
from colleague.packages.mark import Mark
from colleague.packages.nodes import Mapping, Node, Scalar, Sequence
from colleague.suggest import did_you_mean

T = TypeVar("T")

_MOST_HINTS = 50  # a file with more unknown fields is not one of ours, and comparing names takes time


class Fields:
    """The fields of one object. What nobody asked for is reported by `finish`."""

    def __init__(self, node: Node | None, what: str, findings: Findings, at: Mark) -> None:
        self.findings = findings
        self.what = what
        self.node: Mapping | None = None
        self.at = at
        self._asked: set[str] = set()
        if isinstance(node, Mapping):
            self.node = node
        elif node is not None and not _is_null(node):
            self._wrong_type(what, node, "a mapping of fields")

    def mark(self, name: str) -> Mark:
        return self.node.marks.get(name, self.at) if self.node else self.at

    def has(self, name: str) -> bool:
        return self._get(name) is not None

    def text(self, name: str, default: str = "") -> str:
        node = self._get(name)
        if node is None:
            return default
        if isinstance(node, Scalar):
            return node.text
        self._wrong_type(name, node, "text")
        return default

    def required_text(self, name: str) -> str:
        text = self.text(name).strip()
        if not text and isinstance(self._get(name), Scalar | None):
            self._missing(name)
        return text

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; a single text counts as a list of one."""
        return tuple(text for text, _ in self.marked_texts(name))

    def marked_texts(self, name: str) -> list[tuple[str, Mark]]:
        node = self._get(name)
        if isinstance(node, Scalar):
            return [(node.text, node.mark)]
        found: list[tuple[str, Mark]] = []
        for item in self.items(name):
            if isinstance(item, Scalar) and item.value is not None:
                found.append((item.text, item.mark))
            else:
                self._wrong_type(f"an entry of {name}", item, "text")
        return found

    def items(self, name: str) -> tuple[Node, ...]:
        node = self._get(name)
        if node is None:
            return ()
        if isinstance(node, Sequence):
            return node.items
        self._wrong_type(name, node, "a list")
        return ()

    def flag(self, name: str, default: bool) -> bool:
        node = self._get(name)
        if node is None:
            return default
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        self._wrong_type(name, node, "true or false")
        return default

    def whole_number(self, name: str, default: int, *, least: int, most: int) -> int:
        node = self._get(name)
        if node is None:
            return default
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, bool) or not isinstance(value, int):
            self._wrong_type(name, node, "a whole number")
            return default
        if not least <= value <= most:
            self._bad_value(name, _short(value), f"a number from {least} to {most}")
            return default
        return value

    def choice(self, name: str, allowed: Iterable[str], default: str) -> str:
        text = self.text(name, default)
        options = list(allowed)
        if text in options or not isinstance(self._get(name), Scalar):
            return text
        self._bad_value(name, text, _one_of(options), did_you_mean(text, options))
        return default

    def duration(self, name: str, *, zero: bool = False) -> Duration | None:
        if not self.has(name):
            return None
        return self.parsed(name, parse_duration if zero else parse_positive_duration, "duration-invalid")

    def parsed(self, name: str, parse: Callable[[str], T], code: str) -> T | None:
        """The text of a field through `parse`, whose ValueError becomes a finding of rule `code`."""
        text = self.text(name)
        if not isinstance(self._get(name), Scalar):
            return None
        try:
            return parse(text)
        except ValueError as error:
            self.findings.add(code, self.mark(name), f"{name}: {error}")
            return None

    def child(self, name: str, what: str = "") -> Fields:
        node = self._get(name)
        return Fields(node, what or name, self.findings, self.mark(name))

    def entries(self, name: str) -> list[tuple[str, Node, Mark]]:
        """The entries of a mapping whose keys the author chooses."""
        node = self._get(name)
        if isinstance(node, Mapping):
            return [(key, value, node.marks[key]) for key, value in node.entries.items()]
        if node is not None:
            self._wrong_type(name, node, "a mapping")
        return []

    def ignore(self, *names: str) -> None:
        """Known fields that are read elsewhere, or not at all."""
        self._asked.update(names)

    def finish(self, code: str = "field-unknown") -> None:
        """Reports fields that no one asked for, with the nearest name."""
        if self.node is None:
            return
        unknown = [name for name in self.node.marks if name not in self._asked]
        for count, name in enumerate(unknown):
            near = did_you_mean(name, self._asked) if count < _MOST_HINTS else ""
            message = f"{name!r} is no field of {self.what}"
            self.findings.add(
                code, self.node.marks[name], message, near or "remove it, or check the spelling"
            )

    def _get(self, name: str) -> Node | None:
        self._asked.add(name)
        node = self.node.entries.get(name) if self.node else None
        return None if node is None or _is_null(node) else node

    def _missing(self, name: str) -> None:
        self.findings.add("field-missing", self.mark(name), f"{self.what} has no {name}", f"add {name}: ...")

    def _wrong_type(self, name: str, node: Node, expected: str) -> None:
        self.findings.add("field-type", node.mark, f"{name} must be {expected}, found {describe(node)}")

    def _bad_value(self, name: str, found: str, expected: str, hint: str = "") -> None:
        message = f"{name} must be {expected}, found {found!r}"
        self.findings.add("field-value", self.mark(name), message, hint)


def describe(node: Node) -> str:
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    return "nothing" if node.value is None else repr(_short(node.text))


def _short(value: object) -> str:
    if isinstance(value, int) and abs(value) > 10**30:
        return f"a number of {int(math.log10(abs(value))) + 1} digits"
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _one_of(options: list[str]) -> str:
    return options[0] if len(options) == 1 else f"{', '.join(options[:-1])} or {options[-1]}"


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None
