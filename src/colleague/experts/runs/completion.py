"""When a process is over: its outputs are there and fit, every step is settled, or a step has failed."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from colleague.agent.call_result import Result
from colleague.agent.conversation import Conversation
from colleague.agent.exits import Completed, Failed
from colleague.experts.runs.tools.names import COMPLETE, MARK_STEP
from colleague.packages.parameter import Parameter
from colleague.store.journal import Call
from colleague.store.steps import StepMark

MOST_TRIES = 2
"""An end without outputs, or with open steps, may be repaired once."""
MOST_NAMED = 20

OpenSteps = Callable[[], Awaitable[list[StepMark]]]


async def no_steps() -> list[StepMark]:
    """For a session without a checklist."""
    return []


@dataclass(frozen=True)
class OutputCompletion:
    """Declared outputs come by `complete`; a process without any ends with a text. No step may be open."""

    outputs: tuple[Parameter, ...]
    open_steps: OpenSteps = no_steps

    async def check(self, conversation: Conversation) -> None:
        ended = self._ended(conversation)
        if ended is not None:
            await self._require_settled(conversation, ended)
            return
        missing = self._misfit(conversation)
        if missing is None:
            return
        if self._tries(conversation) >= MOST_TRIES:
            raise Failed(f"it ended without its outputs: {missing}")
        if conversation.final_text is not None:
            names = ", ".join(parameter.name for parameter in self.outputs)
            more = _left_open(await self.open_steps())
            conversation.say(f"[The work is not over: call complete with the outputs {names}.{more}]")

    def _ended(self, conversation: Conversation) -> Completed | None:
        """The end that the last answer made; a failed step is one at once."""
        for call in conversation.last_calls:
            ended = self._end_by(call)
            if ended is not None:
                return ended
        text = conversation.final_text
        return None if text is None or self.outputs else Completed(text)

    def _end_by(self, call: Call) -> Completed | None:
        if call.status != "finished" or call.is_error:
            return None
        arguments = json.loads(call.arguments)
        if call.operation == MARK_STEP and arguments.get("status") == "failed":
            why = arguments.get("note") or "no reason was given"
            raise Failed(f"step {arguments['step']} failed: {why}")
        if call.operation != COMPLETE:
            return None
        return Completed(arguments.get("narrative", ""), self._declared(arguments.get("outputs") or {}))

    async def _require_settled(self, conversation: Conversation, ended: Completed) -> None:
        """Raises the end when every step is settled. Else the agent is told once, then it has failed."""
        left = await self.open_steps()
        if not left:
            raise ended
        if _ends(conversation) >= MOST_TRIES:
            raise Failed(f"it ended with steps left open: {_named(left)}")
        conversation.say(f"[The work is not over.{_left_open(left)}]")

    def _declared(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Nothing but what is declared leaves; a task without a process declares nothing."""
        names = {parameter.name for parameter in self.outputs}
        return {name: value for name, value in outputs.items() if not names or name in names}

    def _misfit(self, conversation: Conversation) -> str | None:
        """What is wrong with the end that the last answer tried; None when it tried none."""
        refused = [call for call in conversation.last_calls if call.operation == COMPLETE and call.is_error]
        if refused:
            return Result.of(refused[-1]).text
        return None if conversation.final_text is None else "complete was not called"

    def _tries(self, conversation: Conversation) -> int:
        refused = [c for c in conversation.calls_of_attempt if c.operation == COMPLETE and c.is_error]
        return len(refused) + conversation.texts_of_attempt


def _ends(conversation: Conversation) -> int:
    """How many answers of this attempt tried to end the work."""
    made = {
        call.position
        for call in conversation.calls_of_attempt
        if call.operation == COMPLETE and call.status == "finished" and not call.is_error
    }
    return len(made) + conversation.texts_of_attempt


def _left_open(left: list[StepMark]) -> str:
    if not left:
        return ""
    return (
        f" These steps are open: {_named(left)}. Do each and mark it done, or mark it skipped with the "
        "reason in its note; then end the work again."
    )


def _named(left: list[StepMark]) -> str:
    shown = "; ".join(f"{step.number}. {step.text[:200].rstrip('.')}" for step in left[:MOST_NAMED])
    return f"{shown}; and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else shown
