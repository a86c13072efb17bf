"""YAML as a tree in which every value knows its file and line.

Built from parser events, so that hostile input (deep nesting, aliases that multiply or loop, endless
lists) is stopped while it is read, and a scalar keeps the text the author typed: `1.10` stays `1.10`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from colleague.packages.mark import Mark

MAX_DEPTH = 60
MAX_SIZE = 100_000
MAX_DIRECTIVES = 100
MAX_DIGITS = 1000

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER: Any = yaml.resolver.Resolver()
_STANDARD = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(f"{_STANDARD}{kind}" for kind in ("str", "int", "float", "bool", "null"))
_PLAIN_TAGS = {
    yaml.ScalarEvent: _SCALAR_TAGS,
    yaml.SequenceStartEvent: frozenset({f"{_STANDARD}seq"}),
    yaml.MappingStartEvent: frozenset({f"{_STANDARD}map"}),
}


class NodeError(Exception):
    """The YAML cannot be used; `code` is the rule it breaks."""

    def __init__(self, code: str, at: Mark, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.at, self.message, self.hint = code, at, message, hint


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value. `text` is what the author typed, `value` what YAML makes of it."""

    text: str
    value: str | int | float | bool | None
    mark: Mark
    size: int = 1
    height: int = 0


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list. `size` counts it with everything below."""

    items: tuple[Node, ...]
    mark: Mark
    size: int
    height: int = 0


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping; `marks` has the place of each key."""

    entries: dict[str, Node]
    marks: dict[str, Mark] = field(repr=False)
    mark: Mark
    size: int
    height: int = 0


Node = Scalar | Sequence | Mapping


def parse(text: str, file: str, *, first_line: int = 1) -> Node | None:
    """The tree of one YAML document, None when it is empty. Raises NodeError."""
    try:
        return _Reader(text, file, first_line).document()
    except yaml.YAMLError as error:
        raise _from_yaml_error(error, text, file, first_line) from None


def plain(node: Node | None) -> Any:
    """The tree as dicts, lists and scalars."""
    if isinstance(node, Mapping):
        return {key: plain(value) for key, value in node.entries.items()}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return None if node is None else node.value


def mark_of(node: Node, *path: str | int) -> Mark:
    """Where the value at `path` stands; as near as possible when the path does not exist."""
    mark = node.mark
    current: Node | None = node
    for part in path:
        if isinstance(current, Mapping) and isinstance(part, str) and part in current.entries:
            mark, current = current.marks[part], current.entries[part]
        elif isinstance(current, Sequence) and isinstance(part, int) and part < len(current.items):
            current = current.items[part]
            mark = current.mark
        else:
            break
    return mark


class _Reader:
    def __init__(self, text: str, file: str, first_line: int) -> None:
        self._text = text
        self._loader = _Loader(text)
        self._file = file
        self._offset = first_line
        self._anchors: dict[str, Node | None] = {}
        self._seen = 0

    def document(self) -> Node | None:
        self._limit_directives()
        self._next(yaml.StreamStartEvent)
        if self._loader.check_event(yaml.StreamEndEvent):
            return None
        self._next(yaml.DocumentStartEvent)
        node = self._node(0)
        self._next(yaml.DocumentEndEvent)
        if not self._loader.check_event(yaml.StreamEndEvent):
            at = self._mark(self._loader.peek_event())
            raise NodeError(
                "yaml-invalid", at, "a second document begins here", "keep one document, without ---"
            )
        return None if isinstance(node, Scalar) and node.value is None else node

    def _limit_directives(self) -> None:
        """The parser compares each directive with all before it, in one go that cannot be stopped."""
        if self._text.count("\n%") > MAX_DIRECTIVES:
            at = Mark(self._file, self._offset)
            raise NodeError("yaml-bomb", at, f"more than {MAX_DIRECTIVES} directives", "remove the % lines")

    def _next(self, kind: Any) -> Any:
        event = self._loader.get_event()
        if not isinstance(event, kind):
            raise NodeError("yaml-invalid", self._mark(event), "this is not a YAML document")
        return event

    def _mark(self, event: Any) -> Mark:
        return Mark(self._file, event.start_mark.line + self._offset)

    def _node(self, depth: int) -> Node:
        event = self._loader.get_event()
        at = self._mark(event)
        self._seen += 1
        _limit_depth(depth, at)
        if self._seen > MAX_SIZE:
            raise NodeError("yaml-bomb", at, f"more than {MAX_SIZE:,} values in one file", "split the file")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, at, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        node = self._build(event, at, depth)
        if node.size > MAX_SIZE:
            raise NodeError(
                "yaml-bomb", at, f"aliases multiply to more than {MAX_SIZE:,} values", "write it out"
            )
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, at: Mark, depth: int) -> Node:
        if event.anchor not in self._anchors:
            raise NodeError(
                "yaml-invalid", at, f"*{event.anchor} refers to no anchor", f"define &{event.anchor} first"
            )
        node = self._anchors[event.anchor]
        if node is None:
            raise NodeError("yaml-bomb", at, f"*{event.anchor} refers to itself", "write the value out")
        _limit_depth(depth + node.height, at)
        return node

    def _build(self, event: Any, at: Mark, depth: int) -> Node:
        _require_plain_tag(event, at)
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(event.value, _scalar_value(event), at)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(at, depth)
        return self._mapping(at, depth)

    def _sequence(self, at: Mark, depth: int) -> Sequence:
        items: list[Node] = []
        while not self._loader.check_event(yaml.SequenceEndEvent):
            items.append(self._node(depth + 1))
        self._loader.get_event()
        return Sequence(tuple(items), at, 1 + sum(item.size for item in items), _height(items))

    def _mapping(self, at: Mark, depth: int) -> Mapping:
        entries: dict[str, Node] = {}
        marks: dict[str, Mark] = {}
        merged: list[Mapping] = []
        while not self._loader.check_event(yaml.MappingEndEvent):
            key = self._node(depth + 1)
            value = self._node(depth + 1)
            if not isinstance(key, Scalar):
                raise NodeError("yaml-invalid", key.mark, "a key must be a word, not a list or mapping")
            if key.text == "<<" and key.value == "<<":
                merged.extend(_merge_sources(value))
                self._seen += value.size
                continue
            if key.text in entries:
                first = marks[key.text].line
                message = f"{key.text!r} stands twice in one mapping, first on line {first}"
                raise NodeError("yaml-duplicate-key", key.mark, message, "keep one of them")
            entries[key.text], marks[key.text] = value, key.mark
        self._loader.get_event()
        for source in merged:
            for name, node in source.entries.items():
                if name not in entries:
                    entries[name], marks[name] = node, source.marks[name]
        size = 1 + sum(node.size for node in entries.values())
        return Mapping(entries, marks, at, size, _height(entries.values()))


def _require_plain_tag(event: Any, at: Mark) -> None:
    """A lone `!` says "no tag". Every other tag that is not one of plain data could mean anything."""
    if event.tag in (None, "!") or event.tag in _PLAIN_TAGS[type(event)]:
        return
    standard = event.tag.startswith(_STANDARD)
    shown = f"!!{event.tag.removeprefix(_STANDARD)}" if standard else event.tag
    message = f"the tag {shown[:60]} is not plain data"
    raise NodeError("yaml-tag", at, message, "remove the tag and write text, numbers, lists and mappings")


def _height(children: Iterable[Node]) -> int:
    return 1 + max((child.height for child in children), default=0)


def _limit_depth(depth: int, at: Mark) -> None:
    if depth > MAX_DEPTH:
        raise NodeError("yaml-bomb", at, f"nested deeper than {MAX_DEPTH} levels", "flatten it")


def _merge_sources(node: Node) -> Iterator[Mapping]:
    for source in node.items if isinstance(node, Sequence) else (node,):
        if not isinstance(source, Mapping):
            raise NodeError("yaml-invalid", source.mark, "<< can only merge mappings")
        yield source


def _scalar_value(event: Any) -> str | int | float | bool | None:
    text: str = event.value
    tag = event.tag or _RESOLVER.resolve(yaml.ScalarNode, text, event.implicit)
    try:
        match tag.rpartition(":")[2]:
            case "null":
                return None
            case "bool":
                return text.lower() in ("yes", "true", "on")
            case "int":
                return _integer(text)
            case "float":
                return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        pass
    return text


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    if len(digits) > MAX_DIGITS:
        raise ValueError("too long to be shown again as a number")
    if digits.isdigit() and digits.startswith("0") and len(digits) > 1:
        return int(digits, 8)
    return int(digits, 0)


def _from_yaml_error(error: yaml.YAMLError, text: str, file: str, first_line: int) -> NodeError:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    mark = getattr(error, "problem_mark", None)
    line = mark.line if mark is not None else text.encode().count(b"\n", 0, getattr(error, "position", 0))
    line = min(line, text.count("\n"))
    source = text.split("\n")[line]
    indent = source[: len(source) - len(source.lstrip())]
    hint = "indent with spaces, not tabs" if "\t" in indent else ""
    return NodeError("yaml-invalid", Mark(file, line + first_line), f"invalid YAML: {problem}", hint)
