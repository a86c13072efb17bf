"""Scripts: the replies of a model, written down in YAML.

log: asked.jsonl              # optional: a line for each time the model is asked
input: [text, image]          # optional: it can look at pictures
replies:
  - thinking: Who is this?
    calls:
      - operation: crm.get_contact
        arguments: {email: ada@example.com}
  - when: not found           # or /regular expression/, on the last user or tool text
    text: There is no such contact.
  - error: {reason: rate_limit, retry_after: 3, times: 1}
    text: Ada is a customer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, cast, get_args

from colleague.agent.models.failure import Reason
from colleague.agent.models.resolved import Prices
from colleague.errors import ColleagueError
from colleague.packages.fields import Fields
from colleague.packages.finding import Findings
from colleague.packages.mark import Mark
from colleague.packages.nodes import Node, NodeError, Scalar, Sequence, parse, plain

_MOST = 1_000_000


class ScriptError(ColleagueError):
    """A script cannot be played."""


@dataclass(frozen=True)
class ScriptedCall:
    """A tool call of a reply."""

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScriptedError:
    """What goes wrong instead: after some tokens, and only the first `times` times it is asked for."""

    reason: Reason
    retry_after: float | None = None
    after: int = 0
    times: int | None = None


@dataclass(frozen=True)
class ScriptedReply:
    """One reply of a script."""

    number: int
    text: str = ""
    thinking: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    when: re.Pattern[str] | None = None
    delay: float = 0.0
    pace: float = 0.0
    """Seconds after each piece."""
    error: ScriptedError | None = None


@dataclass(frozen=True)
class Script:
    """A script, read and checked."""

    file: Path
    replies: tuple[ScriptedReply, ...]
    log: Path | None = None
    context_window: int | None = None
    prices: Prices | None = None
    input: tuple[str, ...] | None = None

    def choose(self, answers: int, last: str) -> ScriptedReply | None:
        """The first reply whose `when` matches the last text, else the one at this place in the list."""
        for reply in self.replies:
            if reply.when is not None and reply.when.search(last):
                return reply
        return next((reply for reply in self.replies[answers:] if reply.when is None), None)


def read_script(file: Path) -> Script:
    """Raises ScriptError with file and line of everything that is wrong."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ScriptError(f"{file}: {what}", hint="check the path after script/") from None
    try:
        tree = parse(text, str(file))
    except NodeError as error:
        raise ScriptError(f"{error.at}: {error.message}", hint=error.hint) from None
    findings = Findings()
    script = _script(file, tree, findings)
    if found := list(findings):
        raise ScriptError(
            "\n".join(map(str, found)), hint=next((each.hint for each in found if each.hint), "")
        )
    return script


def _script(file: Path, tree: Node | None, findings: Findings) -> Script:
    at = Mark(str(file))
    if isinstance(tree, Sequence):
        return Script(file, _replies(tree.items, findings, logged=False))
    fields = Fields(tree, "the script", findings, at)
    log = fields.text("log").strip()
    replies = _replies(fields.items("replies"), findings, logged=bool(log))
    if not replies:
        findings.add("field-missing", at, "the script has no replies", "add replies: with a list under it")
    window = fields.whole_number("context_window", 0, least=1, most=10**9) or None
    prices = _prices(fields.child("cost")) if fields.has("cost") else None
    takes = fields.texts("input") or None
    fields.finish()
    return Script(file, replies, file.parent / log if log else None, window, prices, takes)


def _prices(fields: Fields) -> Prices:
    amounts = [fields.parsed(name, _amount, "field-value") for name in ("input", "output")]
    fields.finish()
    return Prices(*(amount or Decimal(0) for amount in amounts))


def _replies(items: tuple[Node, ...], findings: Findings, *, logged: bool) -> tuple[ScriptedReply, ...]:
    return tuple(_reply(item, number, findings, logged) for number, item in enumerate(items, start=1))


def _reply(item: Node, number: int, findings: Findings, logged: bool) -> ScriptedReply:
    fields = Fields(item, f"reply {number}", findings, item.mark)
    reply = ScriptedReply(
        number,
        text=fields.text("text"),
        thinking=fields.text("thinking"),
        calls=tuple(_call(each, findings) for each in fields.items("calls")),
        when=fields.parsed("when", _pattern, "field-value"),
        delay=fields.parsed("delay", _seconds, "field-value") or 0.0,
        pace=fields.parsed("pace", _seconds, "field-value") or 0.0,
        error=_error(fields, logged),
    )
    if fields.node is not None and not any(map(fields.has, ("text", "thinking", "calls", "error"))):
        message = f"reply {number} says nothing"
        findings.add("field-missing", fields.at, message, "add text:, calls: or error:")
    fields.finish()
    return reply


def _call(item: Node, findings: Findings) -> ScriptedCall:
    fields = Fields(item, "a call", findings, item.mark)
    operation = fields.required_text("operation")
    arguments = plain(fields.child("arguments").node) or {}
    fields.finish()
    return ScriptedCall(operation, arguments)


def _error(reply: Fields, logged: bool) -> ScriptedError | None:
    if not reply.has("error"):
        return None
    node = reply.node.entries["error"] if reply.node else None
    if isinstance(node, Scalar):
        return ScriptedError(cast("Reason", reply.choice("error", get_args(Reason), "unknown")))
    fields = reply.child("error")
    fields.required_text("reason")
    error = ScriptedError(
        cast("Reason", fields.choice("reason", get_args(Reason), "unknown")),
        fields.parsed("retry_after", _seconds, "field-value"),
        fields.whole_number("after", 0, least=0, most=_MOST),
        fields.whole_number("times", 0, least=1, most=_MOST) or None,
    )
    if error.times and not logged:
        message = "times needs a log: the script remembers only what is written there"
        fields.findings.add("field-missing", fields.mark("times"), message, "add log: FILE to the script")
    fields.finish()
    return error


def _pattern(text: str) -> re.Pattern[str]:
    """A part of the text, or a regular expression between slashes."""
    if not (len(text) > 1 and text.startswith("/") and text.endswith("/")):
        return re.compile(re.escape(text))
    try:
        return re.compile(text[1:-1])
    except re.error as error:
        raise ValueError(f"{text} is no regular expression: {error}") from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= _MOST:
        raise ValueError(f"{text!r} is no number of seconds; write 3, 0.5 or 3s")
    return seconds


def _amount(text: str) -> Decimal:
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 <= amount <= _MOST:
        raise ValueError(f"{text!r} is no price; write dollars for a million tokens, such as 3 or 0.25")
    return Decimal(text)
