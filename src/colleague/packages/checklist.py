"""The checklist of a process: `- [ ]` items as steps, with what each of them names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from colleague.packages.mark import Mark

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_BOX = re.compile(r"\[[ xX]\]\s+")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_OPERATION = re.compile(r"[A-Za-z][\w-]*\.[A-Za-z][\w-]*")
_FILE = re.compile(r"(?:\./)?[\w{}.-]+(?:/[\w{}.-]+)+")
_VERBS = re.compile(
    "add|archive|assign|cancel|close|create|delete|find|get|list|mark|move|post|publish|query|read|remove|reply"
    "|schedule|search|send|set|submit|update|upload|write"
)
_FILE_ENDINGS = (".md", ".yaml", ".yml", ".json", ".txt", ".csv", ".html", ".pdf", ".py")


@dataclass(frozen=True)
class Vocabulary:
    """The names a step may use: operations by tool, and functions."""

    operations: dict[str, frozenset[str]]
    functions: frozenset[str]


@dataclass(frozen=True)
class Step:
    """One item. `undeclared` are operation-like names that no tool file declares."""

    text: str
    at: Mark = field(compare=False)
    operations: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()


def read_steps(body: str, file: str, first_line: int, vocabulary: Vocabulary) -> tuple[Step, ...]:
    return tuple(
        _step(text, Mark(file, first_line + line), vocabulary) for text, line in _checked_items(body)
    )


def _checked_items(body: str) -> Iterator[tuple[str, int]]:
    """Text and line (from 0) of every list item that begins with a box."""
    tokens = _markdown().parse(body)
    for opening, _, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type == "list_item_open" and inline.type == "inline":
            box = _BOX.match(inline.content)
            if box and inline.map:
                yield inline.content[box.end() :].strip(), inline.map[0]


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable(["inline"])


def _step(text: str, at: Mark, vocabulary: Vocabulary) -> Step:
    named = [code[1].strip() for code in _CODE.findall(text)]
    operations = [name for name in named if is_operation(name, vocabulary)]
    return Step(
        text=" ".join(text.split()),
        at=at,
        operations=_unique(operations),
        functions=_unique(name for name in named if name in vocabulary.functions),
        files=_unique(name for name in named if _FILE.fullmatch(name)),
        undeclared=_unique(name for name in named if _looks_like_operation(name, vocabulary)),
    )


def is_operation(name: str, vocabulary: Vocabulary) -> bool:
    tool, _, operation = name.partition(".")
    return operation in vocabulary.operations.get(tool, ())


def _looks_like_operation(name: str, vocabulary: Vocabulary) -> bool:
    """`crm.delete_everything` does; `notes.md`, `deal.amount` and declared operations do not."""
    if not _OPERATION.fullmatch(name) or is_operation(name, vocabulary) or name.endswith(_FILE_ENDINGS):
        return False
    tool, _, operation = name.partition(".")
    if tool in vocabulary.operations:
        return bool(vocabulary.operations[tool])
    verb, _, noun = operation.partition("_")
    return bool(noun and _VERBS.fullmatch(verb))


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
