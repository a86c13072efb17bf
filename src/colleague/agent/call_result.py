"""What came of a call: as it is stored, and as a model is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colleague.store.journal import Call, Message

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


@dataclass(frozen=True)
class Result:
    """What came of a call, as it is stored: the text, whose word it is, and whether it stays in here."""

    text: str
    source: str = ""
    private: bool = False

    def to_json(self) -> str:
        data: dict[str, Any] = {"text": self.text, "source": self.source}
        return json.dumps(data | {"private": True} if self.private else data, ensure_ascii=False)

    @classmethod
    def of(cls, call: Call) -> Result:
        data = json.loads(call.result or "{}")
        return cls(as_text(data.get("text", "")), data.get("source", ""), data.get("private", False))


def as_text(value: Any) -> str:
    """What a person or program answered, which may be any JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def with_results(
    message: Message,
    parsed: Sequence[ModelMessage],
    calls: Sequence[Call],
    present: Callable[[Call], str],
) -> list[ModelMessage]:
    """A message of a run, and after it the results of its calls."""
    from pydantic_ai.messages import ModelRequest

    answered = parsed[-1].kind == "response"
    own = [call for call in calls if call.position == message.position and call.result is not None]
    results = [_result_part(call, present(call), answered) for call in own]
    return [*parsed, *([ModelRequest(parts=results)] if results else [])]


def _result_part(call: Call, text: str, answered: bool) -> Any:
    """A call that a person decided about belongs to an earlier turn: its result is told, not returned."""
    from pydantic_ai.messages import ToolReturnPart, UserPromptPart

    if not answered:
        return UserPromptPart(content=f"{call.operation} with {call.arguments}:\n{text}")
    outcome: Any = "failed" if call.is_error else "success"
    return ToolReturnPart(call.operation, text, tool_call_id=call.tool_call_id, outcome=outcome)
