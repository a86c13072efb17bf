"""Reading a JSON5 settings file so that every value can be traced to its file, line and column."""

from __future__ import annotations

import bisect
import json
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyjson5

from colleague.config.json5_tokens import key_of, tokens
from colleague.errors import ConfigError

Key = str | int
Keys = tuple[Key, ...]

MAX_BYTES = 10 * 1024 * 1024
MAX_DEPTH = 64
MAX_INCLUDES = 10
INCLUDE = "$include"

# json5 needs about a second for this much text, pyjson5 less than a millisecond.
_JSON5_CHARS = 64_000

_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
_WANTED = {
    "b'comma' or U+007d": "a comma or }",
    "b'comma' or U+005d": "a comma or ]",
    "b'colon'": "a colon",
    "b'JSON5Value'": "a value",
    "b'IdentifierStart'": "a key",
}


def kind(value: object) -> str:
    """What a JSON value is, for a sentence."""
    return _KINDS.get(type(value), "a number")


class Place(NamedTuple):
    """A file, and a line and column in it that count from 1."""

    file: Path
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class SettingsWarning(NamedTuple):
    """Something in a settings file that has no effect, or not the one its author expects."""

    file: Path
    line: int
    column: int
    message: str
    hint: str = ""

    @classmethod
    def at(cls, place: Place, message: str, hint: str = "") -> SettingsWarning:
        return cls(place.file, place.line, place.column, message, hint)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class KeyPlaces:
    """Where the keys and values of a JSON5 text stand. The text must be valid."""

    def __init__(self, text: str) -> None:
        self.values: dict[Keys, int] = {}
        self.keys: dict[Keys, int] = {}
        self.repeated: list[tuple[Keys, int, int]] = []
        self._breaks = [match.start() for match in re.finditer("\n", text)]
        self._scan(text)

    def line_column(self, offset: int) -> tuple[int, int]:
        line = bisect.bisect_left(self._breaks, offset)
        start = self._breaks[line - 1] + 1 if line else 0
        return line + 1, offset - start + 1

    def _scan(self, text: str) -> None:
        open_: list[_Open] = []
        for token in tokens(text):
            if token[0] == ":":
                continue
            if token.lastgroup == "mark" and token[0] in "]}":
                open_.pop()
            elif token.lastgroup == "mark" and token[0] == ",":
                open_[-1].next()
            elif open_ and open_[-1].key is None:
                self._note_key(open_[-1], key_of(token[0]), token.start())
            else:
                path = open_[-1].path if open_ else ()
                self.values[path] = token.start()
                if token.lastgroup == "mark":
                    open_.append(_Open(path, is_list=token[0] == "["))

    def _note_key(self, inside: _Open, key: str, offset: int) -> None:
        inside.key = key
        if key in inside.seen:
            self.repeated.append((inside.path, inside.seen[key], offset))
        inside.seen[key] = offset
        self.keys[inside.path] = offset


class _Open:
    """An object or list whose end has not been reached."""

    def __init__(self, base: Keys, *, is_list: bool) -> None:
        self.base, self.is_list = base, is_list
        self.key: Key | None = 0 if is_list else None
        self.seen: dict[str, int] = {}

    @property
    def path(self) -> Keys:
        return self.base if self.key is None else (*self.base, self.key)

    def next(self) -> None:
        self.key = self.key + 1 if isinstance(self.key, int) else None


def locate(text: str, path: Sequence[Key]) -> tuple[int, int]:
    """Line and column of the value at `path` in a valid JSON5 text; of its nearest parent if it is absent."""
    places, keys = KeyPlaces(text), tuple(path)
    while keys not in places.values:
        keys = keys[:-1]
    return places.line_column(places.values[keys])


@dataclass(frozen=True)
class SettingsDocument:
    """One file as it was read. Its text may hold secrets, so it is not in the repr."""

    file: Path
    text: str = field(repr=False)
    value: object = field(repr=False)

    @cached_property
    def places(self) -> KeyPlaces:
        return KeyPlaces(self.text)

    def place(self, path: Keys) -> Place:
        return Place(self.file, *self.places.line_column(self.places.values[path]))

    def key_place(self, path: Keys) -> Place:
        return Place(self.file, *self.places.line_column(self.places.keys[path]))

    def warnings(self) -> Iterator[SettingsWarning]:
        if self._has_repeated_keys():
            for path, first, again in self.places.repeated:
                line, column = self.places.line_column(again)
                yield SettingsWarning(
                    self.file,
                    line,
                    column,
                    f"{dotted(path)} is written twice; the last one counts",
                    f"remove the one on line {self.places.line_column(first)[0]}",
                )

    def _has_repeated_keys(self) -> bool:
        colons = sum(token[0] == ":" for token in tokens(self.text))
        return colons != _count_keys(self.value)


def _count_keys(value: object) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_count_keys, value.values()))
    return sum(map(_count_keys, value)) if isinstance(value, list) else 0


def dotted(path: Keys) -> str:
    """`agents.list[0].id`, as a person would write it."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif re.fullmatch(r"[\w$-]+", key):
            text += f".{key}"
        else:
            text += f"[{json.dumps(key, ensure_ascii=False)}]"
    return text.removeprefix(".")


def read_document(file: Path) -> SettingsDocument:
    """The file as plain values. Raises FileNotFoundError when there is none, ConfigError for all else."""
    text = _read_text(file)
    return SettingsDocument(file, text, parse(text, file))


def _read_text(file: Path) -> str:
    try:
        return _decoded(_read_bytes(file), file)
    except FileNotFoundError:
        if not file.is_symlink():
            raise
        raise ConfigError(f"{file} is a link to nothing", hint="mend or remove the link") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(
            f"{file} cannot be read: {reason}", hint="check the path and its permissions"
        ) from None


def _read_bytes(file: Path) -> bytes:
    if not stat.S_ISREG(file.stat().st_mode):
        raise ConfigError(f"{file} is not a file", hint="put a JSON5 file in its place, or remove it")
    with file.open("rb") as opened:
        data = opened.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ConfigError(
            f"{file} is larger than {MAX_BYTES // 1024**2} MB, too large for settings",
            hint="check that it is the right file",
        )
    return data


def _decoded(data: bytes, file: Path) -> str:
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode().removeprefix("\ufeff")
        raise ConfigError(
            f"{_place(file, before, len(before))}: byte 0x{data[error.start]:02x} is not UTF-8",
            hint="save the file as UTF-8",
        ) from None


def _place(file: Path, text: str, offset: int) -> Place:
    return Place(file, text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def parse(text: str, file: Path) -> object:
    """The values of a JSON5 text; ConfigError with line and column when it is not valid."""
    try:
        return pyjson5.decode(text, MAX_DEPTH)
    except pyjson5.Json5Exception as error:
        problem = error
    raise _syntax_error(problem, text, file)


def _syntax_error(problem: Exception, text: str, file: Path) -> ConfigError:
    said = str(problem.args[0])
    near = re.search(r"near (\d+)", said)
    offset = min(max(int(near[1]) - 1, 0) if near else 0, len(text))
    if isinstance(problem, pyjson5.Json5NestingTooDeep):
        what, hint = f"nested more than {MAX_DEPTH} levels deep", "flatten it"
    elif said.startswith("No JSON data"):
        what, hint = "the file is empty", "write {} in it, or delete the file"
    elif found := _exact_words(said, text[offset : offset + 1]):
        what, hint = found, "correct it here or just before"
    else:
        what, hint = "this is not valid JSON5", "correct it here or just before"
        if (found_at := _json5_error_offset(text)) is not None:
            offset = found_at
            what = f"unexpected {text[offset]!r}" if offset < len(text) else "the text ends too early"
    return ConfigError(f"{_place(file, text, offset)}: {what}", hint=hint)


def _exact_words(said: str, character: str) -> str | None:
    """What pyjson5 said, when `character`, where it points, is the one it means."""
    expected = re.match(r"Expected (.+) near \d+, found U\+(\w+)", said)
    if expected and expected[1] in _WANTED and character == chr(int(expected[2], 16)):
        return f"{character!r} where {_WANTED[expected[1]]} should be"
    if said.startswith("Stray b'comma'") and character == ",":
        return "one comma too many"
    if said.startswith("Unclosed b'string'") and character in ("'", '"'):
        return "this text has no closing quote"
    if said.startswith("Unclosed b'NumericLiteral'"):
        return "this number cannot be read"
    if said.startswith("Unclosed") and character in ("[", "{"):
        return f"this {character} is never closed"
    return None


def _json5_error_offset(text: str) -> int | None:
    """Where json5 stumbles; None when it does not say, or the text is too long for it."""
    if len(text) > _JSON5_CHARS:
        return None
    import json5

    try:
        json5.loads(text)
    except (ValueError, RecursionError) as error:
        said = re.match(r"<string>:(\d+) .* at column (\d+)$", str(error), re.DOTALL)
    else:
        return None
    if said is None:
        return None
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: int(said[1]) - 1]) + int(said[2]) - 1


@dataclass(frozen=True, slots=True)
class Node:
    """A value that knows where it was written. Objects hold nodes by key, lists hold nodes."""

    value: dict[str, Node] | list[Node] | str | int | float | bool | None = field(repr=False)
    document: SettingsDocument
    path: Keys

    def plain(self) -> Any:
        """The value as dicts, lists and scalars."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def find(self, path: Keys) -> Node:
        """The node at `path`, or its nearest parent if it is absent."""
        node = self
        for key in path:
            if isinstance(node.value, dict) and key in node.value:
                node = node.value[str(key)]
            elif isinstance(node.value, list) and isinstance(key, int) and key < len(node.value):
                node = node.value[key]
            else:
                break
        return node

    @property
    def place(self) -> Place:
        return self.document.place(self.path)

    @property
    def key_place(self) -> Place:
        return self.document.key_place(self.path)


def lay_over(base: Node, over: Node, *, join_lists: bool = False) -> Node:
    """`over` upon `base`: objects merge, everything else is replaced (or, for lists, appended)."""
    if isinstance(base.value, dict) and isinstance(over.value, dict):
        merged = dict(base.value)
        for key, node in over.value.items():
            merged[key] = lay_over(merged[key], node, join_lists=join_lists) if key in merged else node
        return Node(merged, over.document, over.path)
    if join_lists and isinstance(base.value, list) and isinstance(over.value, list):
        return Node([*base.value, *over.value], over.document, over.path)
    return over


class SettingsFile(NamedTuple):
    """A settings file with what it includes, and what is odd about their keys."""

    tree: Node
    warnings: tuple[SettingsWarning, ...]
    files: tuple[Path, ...] = ()


def read_settings_file(file: Path, root: Path) -> SettingsFile | None:
    """The object in `file`, its `$include`s (all beneath `root`) merged in; None when there is no file."""
    try:
        document = read_document(file)
    except FileNotFoundError:
        return None
    documents = [document]
    tree = _Reader(document, documents, root.resolve(), (file.resolve(),)).node(document.value)
    if not isinstance(tree.value, dict):
        raise ConfigError(
            f"{tree.place}: settings are an object, this is {kind(tree.plain())}",
            hint="put the settings between { and }",
        )
    warnings = dict.fromkeys(warning for each in documents for warning in each.warnings())
    return SettingsFile(tree, tuple(warnings), tuple(each.file for each in documents))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes nodes of one document. `chain` is the files that led here, this one last."""

    document: SettingsDocument
    documents: list[SettingsDocument]
    root: Path
    chain: tuple[Path, ...]
    depth: int = 0

    def node(self, value: object, path: Keys = ()) -> Node:
        if self.depth + len(path) > MAX_DEPTH:
            raise self._error(path, f"nested more than {MAX_DEPTH} levels deep", "flatten it")
        if isinstance(value, list):
            items = [self.node(item, (*path, index)) for index, item in enumerate(value)]
            return Node(items, self.document, path)
        if isinstance(value, dict):
            return self._object(value, path)
        return Node(value, self.document, path)  # type: ignore[arg-type]

    def _object(self, value: dict[str, object], path: Keys) -> Node:
        own = Node(
            {key: self.node(item, (*path, key)) for key, item in value.items() if key != INCLUDE},
            self.document,
            path,
        )
        if INCLUDE not in value:
            return own
        included = self._included(value[INCLUDE], (*path, INCLUDE))
        if not own.value:
            return Node(included.value, self.document, path)
        if not isinstance(included.value, dict):
            raise self._error(
                (*path, INCLUDE),
                f"the included file holds {kind(included.plain())}, which cannot take the keys beside it",
                "include a file with an object, or remove the other keys",
            )
        return lay_over(included, own, join_lists=True)

    def _included(self, value: object, path: Keys) -> Node:
        names: list[Any] = value if isinstance(value, list) else [value]
        at = [(*path, index) for index in range(len(names))] if isinstance(value, list) else [path]
        if not names or not all(isinstance(name, str) for name in names):
            raise self._error(path, f"{INCLUDE} takes a path or a list of paths", 'write "./more.json5"')
        merged = self._read(names[0], at[0])
        for name, where in zip(names[1:], at[1:], strict=True):
            merged = lay_over(merged, self._read(name, where), join_lists=True)
        return merged

    def _read(self, name: str, path: Keys) -> Node:
        file = self._confined(name, path)
        if file in self.chain:
            loop = " -> ".join(each.name for each in (*self.chain[self.chain.index(file) :], file))
            raise self._error(path, f"{INCLUDE} goes in a circle: {loop}", "remove one of them")
        if len(self.chain) > MAX_INCLUDES:
            raise self._error(path, f"more than {MAX_INCLUDES} files include each other", "flatten them")
        try:
            document = read_document(file)
        except FileNotFoundError:
            raise self._error(path, f"{file} does not exist", "create it, or correct the path") from None
        self.documents.append(document)
        depth = self.depth + len(path) - 1
        return _Reader(document, self.documents, self.root, (*self.chain, file), depth).node(document.value)

    def _confined(self, name: str, path: Keys) -> Path:
        try:
            file = (self.document.file.parent / name).resolve()
        except (OSError, ValueError, RuntimeError):
            raise self._error(path, f"{name!r} is not a path", "correct the path") from None
        if not file.is_relative_to(self.root):
            raise self._error(path, f"{name!r} is outside {self.root}", "move the file into that folder")
        return file

    def _error(self, path: Keys, message: str, hint: str) -> ConfigError:
        return ConfigError(f"{self.document.place(path)}: {message}", hint=hint)
