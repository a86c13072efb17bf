"""Where the members of a JSON5 object begin and end, so that one can be added or removed as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from colleague.config.json5_tokens import key_of, tokens

_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


@dataclass(frozen=True)
class Member:
    """`key: value` from the key's first character to the value's last; `comma` is where its comma stands."""

    key: str
    start: int
    value: int
    end: int
    comma: int | None


@dataclass(frozen=True)
class Span:
    """An object from its { to its }."""

    start: int
    end: int
    members: tuple[Member, ...]

    def all(self, key: str) -> list[Member]:
        return [each for each in self.members if each.key == key]


def find_object(text: str, path: Sequence[str]) -> Span | None:
    """The object at `path` of a valid text; of a key written twice, the last one. None when there is none."""
    root = next((token for token in tokens(text, 0)), None)
    span = _object(text, root.start()) if root and root[0] == "{" else None
    for key in path:
        found = span.all(key) if span else []
        if not found or text[found[-1].value] != "{":
            return None
        span = _object(text, found[-1].value)
    return span


def _object(text: str, start: int) -> Span:
    members: list[Member] = []
    rest = tokens(text, start + 1)
    for token in rest:
        if token[0] == "}":
            return Span(start, token.start(), tuple(members))
        if token[0] == ",":
            last = members.pop()
            members.append(Member(last.key, last.start, last.value, last.end, token.start()))
            continue
        next(rest)
        value = next(rest)
        end = _value_end(value, rest)
        members.append(Member(key_of(token[0]), token.start(), value.start(), end, None))
    raise ValueError("the object has no end")


def _value_end(value: re.Match[str], tokens: Iterator[re.Match[str]]) -> int:
    depth = int(value[0] in "{[")
    last = value
    while depth:
        last = next(tokens)
        if last.lastgroup == "mark":
            depth += (last[0] in "{[") - (last[0] in "}]")
    return last.end()


def insert(text: str, span: Span, key: str, value: str) -> str:
    """The text with a member added at the end of the object, in the manner of those before it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    line = text.rfind("\n", 0, span.end) + 1
    last = span.members[-1] if span.members else None
    item = f"{written_key(key)}: {value}"
    if line > span.start and not text[line : span.end].strip():
        indent = _indent(text, last.start if last else None) or f"{text[line : span.end]}  "
        text = f"{text[:line]}{indent}{item},{newline}{text[line:]}"
        return f"{text[: last.end]},{text[last.end :]}" if last and last.comma is None else text
    if last is None:
        return f"{text[: span.end].rstrip(' ')} {item} {text[span.end :]}"
    at = last.end if last.comma is None else last.comma + 1
    return f"{text[:at]}{',' if last.comma is None else ''} {item}{text[at:]}"


def _indent(text: str, start: int | None) -> str:
    """The white space before a member that begins its line."""
    if start is None:
        return ""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return "" if before.strip() else before


def set_value(text: str, member: Member, value: str) -> str:
    """The text with another value of a member."""
    return text[: member.value] + value + text[member.end :]


def remove(text: str, member: Member) -> str:
    """The text without the member and its comma; comments beside it stay, an empty line does not."""
    if member.comma is not None:
        text = text[: member.comma] + text[member.comma + 1 :]
    text = text[: member.start] + text[member.end :]
    line = text.rfind("\n", 0, member.start) + 1
    end = text.find("\n", member.start) + 1 or len(text)
    if line and not text[line:end].strip():
        return text[:line] + text[end:]
    return text


def written(value: object) -> str:
    """A value as JSON5 on one line, keys bare where they can be."""
    if isinstance(value, Mapping):
        items = ", ".join(f"{written_key(key)}: {written(item)}" for key, item in value.items())
        return f"{{ {items} }}" if items else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    return json.dumps(value, ensure_ascii=False)


def written_key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
