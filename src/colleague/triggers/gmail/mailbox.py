"""Asking an expert's email tool which messages are new."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from colleague.errors import ColleagueError
from colleague.experts.bindings import ToolBinding
from colleague.mcp.answer import ToolAnswer
from colleague.mcp.mcp_tool import McpTool
from colleague.mcp.servers import Servers
from colleague.packages.trigger import HISTORY, LISTING, LOOKUPS

READING = ("get_message", "get_email", "read_message", "read_email")

MOST_IN_ALL = 10_000
"""Messages of one push. What is beyond stays unread, and the event says so."""
_HISTORY_SIZE = 500
_LIST_SIZES = (20, 100, 500)
"""A list also holds what is long known, so it is asked for few, and for more when all of them are new."""

_HISTORY_NAMES = ("start_history_id", "startHistoryId", "since_history_id", "history_id", "historyId")
_MAILBOX_NAMES = ("email_address", "emailAddress", "mailbox", "account", "user_id", "userId", "user", "email")
_LIMIT_NAMES = ("max_results", "maxResults", "limit", "page_size", "pageSize")
_PAGE_NAMES = ("page_token", "pageToken", "cursor")
_NEXT_NAMES = ("next_page_token", "nextPageToken", "next_cursor", "nextCursor")
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
class NewMail:
    """Messages that are new; there may be more of them when the list is not complete."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    complete: bool = True


@dataclass(frozen=True)
class Mailbox:
    """A bound email tool. `key` tells calls of one event apart from all others; what is `withheld` needs a
    person and is not done here."""

    servers: Servers
    binding: ToolBinding
    tool: str
    key: str
    withheld: frozenset[str] = frozenset()

    async def new_messages(self, wanted: MailQuery) -> NewMail:
        """As the gmail preset takes them. CannotLook when no operation serves, McpError without an answer."""
        tools = {each.name: each for each in await self.servers.tools(self.binding.server)}
        ways = _ways(tools, self.binding, self.withheld, wanted)
        if not ways:
            raise self._cannot_look()
        failed: list[LookFailed] = []
        for operation, tool in ways:
            try:
                found = await self._list(operation, tool, wanted)
            except LookFailed as error:
                failed.append(error)  # Gmail forgets its history after about a week; a list still serves
            else:
                return replace(found, messages=await self._complete(tools, found.messages))
        raise failed[0]

    def _cannot_look(self) -> CannotLook:
        asks = sorted(self.withheld.intersection(LOOKUPS))
        if asks:
            return CannotLook(
                f"new messages cannot be looked up: a person is to be asked before {self.tool}.{asks[0]}",
                hint=f"give {self.tool}.{asks[0]} the tier auto, or send the messages themselves",
            )
        return CannotLook(
            f"the tool {self.tool!r} (server {self.binding.server}) has no operation that lists new messages",
            hint=f"bind one: colleague expert bind EXPERT {self.tool} SERVER --operation list_messages=TOOL",
        )

    async def _list(self, operation: str, tool: McpTool, wanted: MailQuery) -> NewMail:
        """All pages; of a server without pages as many as it gives at once."""
        has_pages = any(name in _properties(tool) for name in _PAGE_NAMES)
        sizes = (_HISTORY_SIZE,) if operation in HISTORY else _LIST_SIZES
        found = NewMail()
        for size in sizes[:1] if has_pages else sizes:
            found = await self._pages(operation, tool, wanted, size)
            if found.complete:
                break
        return found

    async def _pages(self, operation: str, tool: McpTool, wanted: MailQuery, size: int) -> NewMail:
        messages: dict[str, dict[str, Any]] = {}
        tokens: list[str] = []
        while len(messages) < MOST_IN_ALL:
            known = _known(wanted) | dict.fromkeys(_LIMIT_NAMES, size)
            known |= dict.fromkeys(_PAGE_NAMES, tokens[-1]) if tokens else {}
            suffix = f"{operation}:{size}:{len(tokens)}"
            answer = await self._call(tool.name, _arguments(tool, known) or {}, suffix)
            page = _page_of(answer, wanted, by_time=operation in LISTING)
            messages |= {each["id"]: each for each in page.messages}
            token = _next_page(answer)
            if page.is_end or token is None or token in tokens:
                is_cut = not tokens and token is None and page.dated >= _limit(tool, size)
                return NewMail(list(messages.values()), complete=not is_cut)
            tokens.append(token)
        return NewMail(list(messages.values()), complete=False)

    async def _call(self, tool: str, arguments: dict[str, Any], suffix: str) -> Any:
        answer = await self.servers.call(self.binding.server, tool, arguments, key=f"{self.key}:{suffix}")
        if answer.is_error:
            raise LookFailed(f"{self.binding.server}/{tool} answered with an error: {answer.text[:200]}")
        return _document(answer)

    async def _complete(
        self, tools: Mapping[str, McpTool], messages: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Reads what is only named: without a sender two mails of one person would not be kept in order."""
        reader = next(
            filter(None, (_named(tools, self.binding, self.withheld, each) for each in READING)), None
        )
        complete = []
        for message in messages:
            read = {}
            arguments = _arguments(reader, dict.fromkeys(_ID_NAMES, message["id"])) if reader else None
            if reader is not None and arguments and not message.get("from"):
                found = await self._call(reader.name, arguments, f"read:{message['id']}")
                read = found if isinstance(found, dict) else {}
            complete.append(_normal(read | message))
        return complete


@dataclass(frozen=True)
class _Page:
    """New messages of one answer. `dated`: how many of them say when they came. `is_end`: those behind it
    are old."""

    messages: list[dict[str, Any]]
    dated: int
    is_end: bool


def _page_of(answer: Any, wanted: MailQuery, *, by_time: bool) -> _Page:
    """A history has only what is new; a plain list also holds what was there long before."""
    listed = messages_in(answer)
    if not by_time:
        return _Page(listed, len(listed), is_end=False)
    fresh = [each for each in listed if (_time_ms(each) or wanted.since_ms) >= wanted.since_ms]
    dated = sum(_time_ms(each) is not None for each in fresh)
    return _Page(fresh, dated, is_end=dated == 0 or len(fresh) < len(listed))


def can_look(tools: Mapping[str, McpTool], binding: ToolBinding, withheld: frozenset[str]) -> bool:
    """Whether a server with these tools can say which messages are new."""
    return bool(_ways(tools, binding, withheld, MailQuery("", 0, 0, 0)))


def _ways(
    tools: Mapping[str, McpTool], binding: ToolBinding, withheld: frozenset[str], wanted: MailQuery
) -> list[tuple[str, McpTool]]:
    """Operations that can be asked, with the server's tool for each, the best first."""
    order = (*HISTORY, *LISTING) if wanted.start is not None else (*LISTING, *HISTORY)
    named = [(operation, _named(tools, binding, withheld, operation)) for operation in order]
    known = _known(wanted) | dict.fromkeys(_LIMIT_NAMES, 1)
    return [(name, tool) for name, tool in named if tool and _arguments(tool, known) is not None]


def _named(
    tools: Mapping[str, McpTool], binding: ToolBinding, withheld: frozenset[str], operation: str
) -> McpTool | None:
    return None if operation in withheld else tools.get(binding.operations.get(operation, operation))


def _next_page(document: Any) -> str | None:
    values = [document.get(name) for name in _NEXT_NAMES] if isinstance(document, dict) else []
    return next((str(each) for each in values if isinstance(each, str | int) and each), None)


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
    return dict.fromkeys(_HISTORY_NAMES, start) | dict.fromkeys(_MAILBOX_NAMES, wanted.address)


def _arguments(tool: McpTool, known: Mapping[str, Any]) -> dict[str, Any] | None:
    """What we know of what the tool takes; None when it needs more."""
    properties = _properties(tool)
    given = {name: _typed(value, properties[name]) for name, value in known.items() if name in properties}
    return given if set(tool.input_schema.get("required") or ()) <= given.keys() else None


def _properties(tool: McpTool) -> dict[str, Any]:
    return tool.input_schema.get("properties") or {}


def _limit(tool: McpTool, size: int) -> int:
    """How many the tool is really asked for; more than anything when it takes no number."""
    named = [schema for name, schema in _properties(tool).items() if name in _LIMIT_NAMES]
    return min((int(_typed(size, each)) for each in named), default=MOST_IN_ALL)


def _typed(value: Any, schema: Any) -> Any:
    schema = schema if isinstance(schema, dict) else {}
    most = schema.get("maximum")
    if isinstance(value, int) and isinstance(most, int):
        value = min(value, most)
    return str(value) if schema.get("type") == "string" else value


def _document(answer: ToolAnswer) -> Any:
    if answer.structured is not None:
        return answer.structured
    try:
        return json.loads(answer.text)
    except ValueError:
        return None
