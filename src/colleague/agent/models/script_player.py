"""Playing a script as a model. All it remembers is in the transcript and in the script's log."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colleague.agent.models.failure import WHAT, ModelFailure
from colleague.agent.models.script import Script, ScriptedCall, ScriptedError, ScriptedReply
from colleague.agent.models.tool_name import safe_name

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model

_LONGEST_LOGGED = 200
_TOKEN = re.compile(r"\s*\S+\s*|\s+")


@dataclass(frozen=True)
class ScriptPlayer:
    """A stand-in for a model."""

    name: str
    script: Script

    def open(self) -> Model:
        from pydantic_ai.models.function import FunctionModel

        return FunctionModel(stream_function=self._play, model_name=self.name)

    async def _play(self, messages: list[ModelMessage], _info: Any) -> AsyncIterator[Any]:
        answers = sum(message.kind == "response" for message in messages)
        last = last_text(messages)
        reply = self.script.choose(answers, last)
        asked_before = self._note(answers, reply, last)
        if reply is None:
            raise self._ran_out(answers)
        await asyncio.sleep(reply.delay)
        error = reply.error
        if error is not None and (error.times is None or asked_before < error.times):
            for piece in _tokens(reply.text)[: error.after]:
                yield piece
            raise self._failure(error)
        for piece in _pieces(reply, answers):
            yield piece
            await asyncio.sleep(reply.pace)

    def _note(self, answers: int, reply: ScriptedReply | None, last: str) -> int:
        """Writes to the log; how often it was asked for this answer before, as far as there is a log."""
        if self.script.log is None:
            return 0
        number = reply.number if reply else None
        entry = {"answers": answers, "reply": number, "last": last[:_LONGEST_LOGGED]}
        before = [line for line in _lines(self.script.log) if _place(line) == (answers, number)]
        _append(self.script.log, json.dumps(entry, ensure_ascii=False))
        return len(before)

    def _ran_out(self, answers: int) -> ModelFailure:
        count = len(self.script.replies)
        return ModelFailure(
            "not_found",
            f"{self.name}: the script has no reply number {answers + 1}; it has {count}",
            hint=f"add a reply to {self.script.file}",
        )

    def _failure(self, error: ScriptedError) -> ModelFailure:
        return ModelFailure(
            error.reason,
            f"{self.name}: {WHAT[error.reason]}: so says the script",
            hint=f"see {self.script.file}",
            retry_after=error.retry_after,
            streamed=error.after > 0,
        )


def last_text(messages: list[ModelMessage]) -> str:
    """What the user or the tools said last."""
    request = next((message for message in reversed(messages) if message.kind == "request"), None)
    return "\n".join(_text(part) for part in request.parts) if request else ""


def _text(part: Any) -> str:
    if part.part_kind == "tool-return":
        return str(part.model_response_str())
    if part.part_kind == "user-prompt":
        items = [part.content] if isinstance(part.content, str) else part.content
        return "\n".join(item for item in items if isinstance(item, str))
    return ""


def _pieces(reply: ScriptedReply, answers: int) -> list[Any]:
    from pydantic_ai.models.function import DeltaThinkingPart

    thinking = [{0: DeltaThinkingPart(content=token)} for token in _tokens(reply.thinking)]
    calls = [
        piece
        for index, call in enumerate(reply.calls, start=1)
        for piece in _call_pieces(call, index, f"script-{answers + 1}-{index}")
    ]
    return [*thinking, *_tokens(reply.text), *calls] or [""]


def _call_pieces(call: ScriptedCall, index: int, call_id: str) -> list[Any]:
    """The name first, then the arguments in two pieces, as providers send them."""
    from pydantic_ai.models.function import DeltaToolCall

    arguments = json.dumps(call.arguments, ensure_ascii=False)
    middle = len(arguments) // 2
    return [
        {index: DeltaToolCall(name=safe_name(call.operation), json_args="", tool_call_id=call_id)},
        {index: DeltaToolCall(json_args=arguments[:middle])},
        {index: DeltaToolCall(json_args=arguments[middle:])},
    ]


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def _place(line: str) -> tuple[Any, Any]:
    entry = json.loads(line)
    return entry["answers"], entry["reply"]


def _append(log: Path, line: str) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)
