"""Frontmatter that is no YAML, read as its author meant it.

Published skills have `description: Use when: ...`, `argument-hint: [this] [that]` or `allowed-tools: *`. A
field that cannot be parsed by itself is taken as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from colleague.packages.nodes import Node, NodeError, parse

_FIELD = re.compile(r"(?P<name>[A-Za-z][\w-]*):(?:[ \t]+(?P<text>.*))?")
_QUOTES = "'\""


@dataclass(frozen=True)
class LooseYaml:
    """What was read, and what its author should mend."""

    node: Node | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Block:
    """A field at the left edge, with the indented lines below it. `line` is where it stands in the file."""

    name: str
    text: str
    lines: tuple[str, ...]
    line: int


def parse_loosely(head: str, file: str, *, first_line: int) -> LooseYaml:
    """Raises NodeError for what is no text, such as a broken mapping. The lines keep their numbers."""
    found: list[str] = []
    warnings: list[str] = []
    names: set[str] = set()
    for block in _blocks(head, first_line):
        kept = block.lines
        if block.name in names:
            kept = ("",) * len(block.lines)
            warnings.append(f"{file}:{block.line}: {block.name} stands twice; the first one counts")
        elif not _is_yaml(block, file):
            kept = _as_text(block)
            warnings.append(f"{file}:{block.line}: put the text after the colon into quotes")
        names |= {block.name} - {""}
        found += kept
    return LooseYaml(parse("\n".join(found), file, first_line=first_line), tuple(warnings))


def _blocks(head: str, first_line: int) -> Iterator[_Block]:
    lines = head.split("\n")
    starts = [number for number, line in enumerate(lines) if _FIELD.fullmatch(line)]
    if starts[:1] != [0]:
        yield _Block("", "", tuple(lines[: starts[0] if starts else None]), first_line)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        field = _FIELD.fullmatch(lines[start])
        name, text = (field["name"], field["text"] or "") if field else ("", "")
        yield _Block(name, text.strip(), tuple(lines[start:end]), first_line + start)


def _is_yaml(block: _Block, file: str) -> bool:
    try:
        parse("\n".join(block.lines), file, first_line=block.line)
    except NodeError:
        return not block.text
    return True


def _as_text(block: _Block) -> tuple[str, ...]:
    text = " ".join(part for part in (block.text, *(line.strip() for line in block.lines[1:])) if part)
    if len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES:
        text = text[1:-1]
    quoted = text.replace("'", "''")
    return (f"{block.name}: '{quoted}'", *[""] * (len(block.lines) - 1))
