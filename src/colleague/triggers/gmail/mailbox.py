"""Asking an expert's email tool which messages are new."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from colleague.errors import ColleagueError
from colleague.experts.bindings import ToolBinding
from colleague.mcp.answer import ToolAnswer
from colleague.mcp.servers import Servers
from colleague.mcp.tool import McpTool

HISTORY = ("list_history", "get_history")
LISTING = ("list_messages",)
READING = ("get_message", "get_email", "read_message", "read_email")
MOST = 20

_HISTORY_NAMES = ("start_history_id", "startHistoryId", "since_history_id", "history_id", "historyId")
_MAILBOX_NAMES = ("email_address", "emailAddress", "mailbox", "account", "user_id", "userId", "user", "email")
_LIMIT_NAMES = ("max_results", "maxResults", "limit")
_ID_NAMES = ("message_id", "messageId", "id")
_TIME_NAMES = ("internalDate", "internal_date", "received_at", "receivedAt", "date")
_LIST_NAMES = ("messages", "emails", "items", "result", "results", "value")


class CannotLook(ColleagueError):
    """The tool as it is bound cannot say which messages are new."""


class LookFailed(ColleagueError):
    """It could not be asked now."""


@dataclass(frozen=True)
class MailQuery:
    """Which messages: of whom, changed after `start` in Gmail's counting (None: not known), since when."""

    address: str
    newest: int
    start: int | None
    since_ms: int


@dataclass(frozen=True)
class Mailbox:
    """A bound email tool. `key` tells calls of one event apart from all others; what is `withheld` needs a
    person and is not done here."""

    servers: Servers
    binding: ToolBinding
    tool: str
    key: str
    withheld: frozenset[str] = frozenset()

    async def new_messages(self, wanted: MailQuery) -> list[dict[str, Any]]:
        """As the gmail preset takes them. CannotLook when no operation serves, McpError without an answer."""
        tools = {each.name: each for each in await self.servers.tools(self.binding.server)}
        order = (*HISTORY, *LISTING) if wanted.start is not None else (*LISTING, *HISTORY)
        for operation in order:
            found = self._named(tools, operation)
            arguments = _arguments(found, _known(wanted)) if found else None
            if found is not None and arguments is not None:
                answer = await self._call(found.name, arguments, operation)
                return await self._complete(tools, _fresh(answer, wanted))
        asks = sorted(self.withheld.intersection(order))
        if asks:
            raise CannotLook(
                f"new messages cannot be looked up: a person is to be asked before {self.tool}.{asks[0]}",
                hint=f"give {self.tool}.{asks[0]} the tier auto, or send the messages themselves",
            )
        raise CannotLook(
            f"the tool {self.tool!r} (server {self.binding.server}) has no operation that lists new messages",
            hint=f"bind one: colleague expert bind EXPERT {self.tool} SERVER --operation list_messages=TOOL",
        )

    def _named(self, tools: Mapping[str, McpTool], operation: str) -> McpTool | None:
        if operation in self.withheld:
            return None
        return tools.get(self.binding.operations.get(operation, operation))

    async def _call(self, tool: str, arguments: dict[str, Any], suffix: str) -> Any:
        answer = await self.servers.call(self.binding.server, tool, arguments, key=f"{self.key}:{suffix}")
        if answer.is_error:
            raise LookFailed(f"{self.binding.server}/{tool} answered with an error: {answer.text[:200]}")
        return _document(answer)

    async def _complete(
        self, tools: Mapping[str, McpTool], messages: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Reads what is only named: without a sender two mails of one person would not be kept in order."""
        reader = next(filter(None, (self._named(tools, each) for each in READING)), None)
        complete = []
        for message in messages:
            read = {}
            arguments = _arguments(reader, dict.fromkeys(_ID_NAMES, message["id"])) if reader else None
            if reader is not None and arguments and not message.get("from"):
                found = await self._call(reader.name, arguments, f"read:{message['id']}")
                read = found if isinstance(found, dict) else {}
            complete.append(_normal(read | message))
        return complete


def messages_in(document: Any) -> list[dict[str, Any]]:
    """The messages of a list, or of Gmail's history, each with its id."""
    found = {each["id"]: each for each in map(_with_id, _raw_messages(document)) if each is not None}
    return list(found.values())


def _raw_messages(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return []
    if isinstance(document.get("history"), list):
        return [message for entry in document["history"] for message in _of_history(entry)]
    return next((document[name] for name in _LIST_NAMES if isinstance(document.get(name), list)), [])


def _of_history(entry: Any) -> list[Any]:
    if not isinstance(entry, dict):
        return []
    added = entry.get("messagesAdded", entry.get("messages_added"))
    if isinstance(added, list):
        return [each.get("message", each) for each in added if isinstance(each, dict)]
    messages = entry.get("messages")
    return messages if isinstance(messages, list) else []


def _with_id(message: Any) -> dict[str, Any] | None:
    if not isinstance(message, dict):
        return None
    found = next(
        (message[name] for name in ("id", *_ID_NAMES) if isinstance(message.get(name), str | int)), ""
    )
    return message | {"id": str(found)} if found else None


def _fresh(document: Any, wanted: MailQuery) -> list[dict[str, Any]]:
    """A plain list also holds what was there long before."""
    messages = messages_in(document)
    return [each for each in messages if (_time_ms(each) or wanted.since_ms) >= wanted.since_ms]


def _time_ms(message: Mapping[str, Any]) -> int | None:
    value = next((message[name] for name in _TIME_NAMES if message.get(name)), None)
    text = str(value or "")
    if text.isascii() and text.isdigit() and len(text) < 15:
        return int(text) if len(text) > 11 else int(text) * 1000
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return int(read(text).timestamp() * 1000)
        except (ValueError, TypeError, OverflowError):
            continue
    return None


def _normal(message: dict[str, Any]) -> dict[str, Any]:
    sender = message.get("from")
    if isinstance(sender, dict):
        name, address = sender.get("name") or "", sender.get("email") or sender.get("address") or ""
        return message | {"from": f"{name} <{address}>".strip() if name else address}
    return message


def _known(wanted: MailQuery) -> dict[str, Any]:
    start = wanted.newest if wanted.start is None else wanted.start
    return (
        dict.fromkeys(_HISTORY_NAMES, start)
        | dict.fromkeys(_MAILBOX_NAMES, wanted.address)
        | dict.fromkeys(_LIMIT_NAMES, MOST)
    )


def _arguments(tool: McpTool, known: Mapping[str, Any]) -> dict[str, Any] | None:
    """What we know of what the tool takes; None when it needs more."""
    properties = tool.input_schema.get("properties") or {}
    given = {name: _typed(value, properties[name]) for name, value in known.items() if name in properties}
    return given if set(tool.input_schema.get("required") or ()) <= given.keys() else None


def _typed(value: Any, schema: Any) -> Any:
    wants_text = isinstance(schema, dict) and schema.get("type") == "string"
    return str(value) if wants_text else value


def _document(answer: ToolAnswer) -> Any:
    if answer.structured is not None:
        return answer.structured
    try:
        return json.loads(answer.text)
    except ValueError:
        return None
