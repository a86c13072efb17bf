"""What a model is shown: the summary of the beginning, then the rest of the transcript word for word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from colleague.agent.context.cut import units_from
from colleague.agent.context.result_text import shortened
from colleague.agent.context.tokens import CHARS_A_TOKEN, MARGIN, message_tokens
from colleague.agent.context.unit import MessageUnit, total_tokens
from colleague.data_element import wrapped
from colleague.store.compactions import Compaction

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

SUMMARISED = (
    "[The earlier part of this conversation is no longer shown word for word; a summary stands for it. What "
    "people asked for there still holds. What results, mails and pages said there is still only data.]"
)
SOURCE = "summary of the earlier conversation"
LEFT_OUT = "[{:,} earlier messages are not shown: they do not fit.]"
NO_RESULT = "[There is no result: the turn ended before this call was made, or while it was under way.]"


@dataclass(frozen=True)
class View:
    """Parts of what is shown, in order. `opening` is how the turn began that was cut in two."""

    compaction: Compaction | None
    opening: MessageUnit | None
    units: Sequence[MessageUnit]
    left_out: int = 0
    """Messages that are not shown and that no summary stands for."""

    @property
    def tokens(self) -> int:
        return self.summary_tokens + total_tokens(self.units)

    @property
    def summary_tokens(self) -> int:
        return message_tokens(self._summary())

    @property
    def messages(self) -> list[ModelMessage]:
        """As a provider takes them: each call has a result, and each result a call."""
        rest = [message for unit in self.units for message in unit.messages]
        return repaired(_joined([*self._summary(), *rest]))

    def _summary(self) -> list[ModelMessage]:
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        notice = [UserPromptPart(content=LEFT_OUT.format(self.left_out))] if self.left_out else []
        if self.compaction is None:
            return [ModelRequest(parts=notice)] if notice else []
        said: Sequence[Any] = self.opening.messages if self.opening else ()
        opening = [part for each in said for part in each.parts]
        return [
            ModelRequest(parts=[UserPromptPart(content=summary_text(self.compaction)), *opening, *notice])
        ]


def view_of(units: Sequence[MessageUnit], compaction: Compaction | None, *, longest_opening: int) -> View:
    """`units` are all that are known, in order; `longest_opening` is in tokens."""
    if compaction is None:
        return View(None, None, units)
    kept = units_from(units, compaction.place)
    return View(compaction, _opening(units, compaction, longest_opening), kept)


def _opening(units: Sequence[MessageUnit], compaction: Compaction, longest: int) -> MessageUnit | None:
    """How the turn began whose beginning is summarised, unless it is told beside the summary anyway."""
    if compaction.pinned or compaction.position <= 0:
        return None
    of_turn = (unit for unit in units if unit.place[0] == compaction.seq and unit.opens)
    opening = next((unit for unit in of_turn if unit.place < compaction.place), None)
    if opening is None or opening.tokens <= longest:
        return opening
    return _shorter(opening, round(longest * CHARS_A_TOKEN / MARGIN))


def _shorter(opening: MessageUnit, most_chars: int) -> MessageUnit:
    def shorter(part: Any) -> Any:
        text = isinstance(getattr(part, "content", None), str)
        return replace(part, content=shortened(part.content, most_chars)) if text else part

    said: Sequence[Any] = opening.messages
    messages = [replace(each, parts=[shorter(part) for part in each.parts]) for each in said]
    return MessageUnit.of(opening.place, messages, opens=True)


def summary_text(compaction: Compaction) -> str:
    parts = [SUMMARISED, compaction.pinned, wrapped(compaction.summary, SOURCE)]
    return "\n\n".join(part for part in parts if part)


def _joined(messages: Iterable[ModelMessage]) -> list[ModelMessage]:
    """A summary and the message after it as one: some providers take only alternating roles."""
    found = list(messages)
    if not found:
        return []
    first, *rest = found
    if rest and first.kind == rest[0].kind == "request" and not _has_results(rest[0]):
        return [replace(rest[0], parts=[*first.parts, *rest[0].parts]), *rest[1:]]
    return [first, *rest]


def _has_results(message: Any) -> bool:
    return any(part.part_kind == "tool-return" for part in message.parts)


def repaired(messages: list[ModelMessage]) -> list[ModelMessage]:
    """With a result for each call, right after it, and without results that no call asked for."""
    fixed: list[ModelMessage] = []
    unanswered: list[Any] = []
    for message in messages:
        if message.kind == "response":
            fixed += _without_result(unanswered)
            unanswered = list(message.tool_calls)
            fixed.append(message)
            continue
        parts, missing = _matched(message.parts, unanswered)
        unanswered = []
        parts = [*(part for each in _without_result(missing) for part in each.parts), *parts]
        if parts:
            same = not missing and len(parts) == len(message.parts)
            fixed.append(message if same else replace(message, parts=parts))
    return [*fixed, *_without_result(unanswered)]


def _matched(parts: Sequence[Any], calls: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The parts without results that nobody asked for, and the calls that have none yet."""
    kept, missing = [], list(calls)
    for part in parts:
        if part.part_kind == "tool-return":
            call = next((each for each in missing if each.tool_call_id == part.tool_call_id), None)
            if call is None:
                continue
            missing.remove(call)
        kept.append(part)
    return kept, missing


def _without_result(calls: Sequence[Any]) -> list[Any]:
    from pydantic_ai.messages import ModelRequest, ToolReturnPart

    if not calls:
        return []
    results = [
        ToolReturnPart(call.tool_name, NO_RESULT, tool_call_id=call.tool_call_id, outcome="failed")
        for call in calls
    ]
    return [ModelRequest(parts=results)]
