"""Questions of a server to a person, while one of its tools is at work. Everything in them is untrusted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from mcp_types import ElicitResult

MOST_QUESTIONS = 10
"""Of one call. Further ones are cancelled, so that a server cannot keep a person busy."""
LONGEST_MESSAGE = 4_000
LARGEST_SCHEMA = 16_000
_FLAT = ("string", "number", "integer", "boolean", "array")
Action = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True)
class ServerQuestion:
    """What a server wants to know: a form, or a visit to an address."""

    message: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    url: str = ""

    @classmethod
    def read(cls, params: Any) -> ServerQuestion | None:
        """None when it is none that a person can be asked."""
        if getattr(params, "mode", "form") == "url":
            return cls(_short(params.message), url=params.url) if _is_web(params.url) else None
        schema = dict(params.requested_schema or {})
        return cls(_short(params.message), schema) if _is_form(schema) else None

    @property
    def digest(self) -> str:
        text = json.dumps([self.message, self.schema, self.url], sort_keys=True)
        return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]

    @property
    def defaults(self) -> dict[str, Any]:
        """What the form has before a person fills it in."""
        if self.url:
            return {"url": self.url}
        fields = self.schema.get("properties", {})
        return {name: each["default"] for name, each in fields.items() if "default" in each}


@dataclass(frozen=True)
class QuestionAnswer:
    """What a person made of it."""

    action: Action
    content: Mapping[str, Any] | None = None

    def result(self) -> ElicitResult:
        from mcp_types import ElicitResult

        content = dict(self.content) if self.content is not None and self.action == "accept" else None
        return ElicitResult(action=self.action, content=content)


class InputRequired(Exception):
    """A call goes on once its server's question is answered. `pending` is what resuming it needs, as JSON."""

    def __init__(self, question: ServerQuestion, pending: str) -> None:
        super().__init__(question.message)
        self.question, self.pending = question, pending


@dataclass(frozen=True)
class GivenAnswer:
    """An answer on its way to the server that asked."""

    pending: str
    answer: QuestionAnswer


def _short(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]} [...]"


def _is_web(url: str) -> bool:
    """Shown to a person, never opened by us; a script or a file is not even shown."""
    return url.startswith(("https://", "http://")) and len(url) <= LONGEST_MESSAGE and url.isprintable()


def _is_form(schema: Mapping[str, Any]) -> bool:
    """An object of plain values, as the protocol demands."""
    fields = schema.get("properties", {})
    return (
        isinstance(fields, dict)
        and len(json.dumps(schema, default=str)) <= LARGEST_SCHEMA
        and all(isinstance(each, dict) and each.get("type", "string") in _FLAT for each in fields.values())
    )
