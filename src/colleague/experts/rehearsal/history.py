"""What happened in a run so far, read off its messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from colleague.agent.models.tool_name import safe_name
from colleague.agent.render import CHANGED, MAY_HAVE_HAPPENED

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

_WRAPPED = re.compile(r'<data source="(?P<source>[^"\n]*)">\n(?P<text>.*)\n</data>\s*', re.DOTALL)
_EDIT = re.compile(rf'{re.escape(CHANGED)}\n<data source="[^"\n]*">\n.*?\n</data>\n', re.DOTALL)
"""What stands before a result when a person changed the arguments."""
_PAIR = re.compile(r'"(\w{1,60})"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false)(?=\s*[,}\]])')
_MOST_PAIRS = 500


@dataclass(frozen=True)
class UserMessage:
    """A message to the agent: the beginning of an attempt, or something said in between."""


@dataclass(frozen=True)
class FinishedCall:
    """A call that has a result. `tool` is in the form that providers take."""

    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    text: str
    ok: bool

    def is_of(self, name: str) -> bool:
        return self.tool == safe_name(name)

    @property
    def source(self) -> str:
        """Whose word the result is; nothing when it is the framework's own."""
        wrapped = _WRAPPED.fullmatch(self._result)
        return wrapped["source"] if wrapped else ""

    @property
    def content(self) -> str:
        """The result without its wrapper."""
        wrapped = _WRAPPED.fullmatch(self._result)
        return wrapped["text"] if wrapped else self._result

    @property
    def _result(self) -> str:
        edit = _EDIT.match(self.text)
        return self.text[edit.end() :] if edit else self.text

    @property
    def reason(self) -> str:
        """Why it failed: the first line, and the next one where the first is only what we say about it."""
        lines = [line.strip() for line in self.content.splitlines() if line.strip()]
        told = lines[1:] if lines[:1] == [MAY_HAVE_HAPPENED] else lines
        return next(iter(told), "it failed without a word")[:300]

    @property
    def document(self) -> Any:
        """The result as JSON; where it was cut or is no JSON, the pairs that can still be read."""
        try:
            return json.loads(self.content, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return dict(_pairs(self.content))


HistoryItem = UserMessage | FinishedCall


def read_history(messages: Sequence[ModelMessage]) -> tuple[HistoryItem, ...]:
    """Calls and words in the order in which they came; a call without a result did not happen."""
    asked = {part.tool_call_id: part for part in _parts(messages, "tool-call")}
    return tuple(_events(messages, asked))


def _events(messages: Sequence[ModelMessage], asked: Mapping[str, Any]) -> Iterator[HistoryItem]:
    for part in (part for message in messages if message.kind == "request" for part in message.parts):
        if part.part_kind == "user-prompt":
            yield UserMessage()
        elif part.part_kind == "tool-return" and part.tool_call_id in asked:
            call = asked[part.tool_call_id]
            yield FinishedCall(call.tool_name, _arguments(call), _text(part), part.outcome == "success")


def _parts(messages: Iterable[ModelMessage], kind: str) -> Iterator[Any]:
    return (part for message in messages for part in message.parts if part.part_kind == kind)


def _text(part: Any) -> str:
    return part.content if isinstance(part.content, str) else str(part.model_response_str())


def _arguments(call: Any) -> Mapping[str, Any]:
    if isinstance(call.args, dict):
        return call.args
    try:
        arguments = json.loads(call.args or "{}")
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _pairs(text: str) -> Iterator[tuple[str, Any]]:
    """Names with plain values; of two with one name the first counts."""
    found: dict[str, Any] = {}
    for name, value in _PAIR.findall(text)[:_MOST_PAIRS]:
        try:
            found.setdefault(name, json.loads(value))
        except ValueError:
            continue
    yield from found.items()
