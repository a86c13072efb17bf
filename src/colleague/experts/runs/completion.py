"""When a process is over: its outputs are there and fit, or a step has failed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from colleague.agent.conversation import Conversation, Result
from colleague.agent.exits import Completed, Failed
from colleague.experts.runs.tools.names import COMPLETE, MARK_STEP
from colleague.packages.parameter import Parameter
from colleague.store.journal import Call

MOST_TRIES = 2
"""An answer without its outputs may be repaired once."""


@dataclass(frozen=True)
class OutputCompletion:
    """What is owed comes by `complete`; without outputs a last word is enough."""

    outputs: tuple[Parameter, ...]

    def check(self, conversation: Conversation) -> None:
        for call in conversation.last_calls:
            self._look_at(call)
        missing = self._misfit(conversation)
        if missing is None:
            return
        if self._tries(conversation) >= MOST_TRIES:
            raise Failed(f"it ended without its outputs: {missing}")
        if conversation.final_text is not None:
            names = ", ".join(parameter.name for parameter in self.outputs)
            conversation.say(f"[The work is not over: call complete with the outputs {names}.]")

    def _look_at(self, call: Call) -> None:
        if call.status != "finished" or call.is_error:
            return
        arguments = json.loads(call.arguments)
        if call.operation == MARK_STEP and arguments.get("status") == "failed":
            why = arguments.get("note") or "no reason was given"
            raise Failed(f"step {arguments['step']} failed: {why}")
        if call.operation == COMPLETE:
            raise Completed(arguments.get("narrative", ""), self._declared(arguments.get("outputs") or {}))

    def _declared(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Nothing but what is declared leaves; a task without a process declares nothing."""
        names = {parameter.name for parameter in self.outputs}
        return {name: value for name, value in outputs.items() if not names or name in names}

    def _misfit(self, conversation: Conversation) -> str | None:
        """What is wrong with the end that the last answer tried; None when it tried none."""
        refused = [call for call in conversation.last_calls if call.operation == COMPLETE and call.is_error]
        if refused:
            return Result.of(refused[-1]).text
        text = conversation.final_text
        if text is None:
            return None
        if not self.outputs:
            raise Completed(text)
        return "complete was not called"

    def _tries(self, conversation: Conversation) -> int:
        refused = [c for c in conversation.calls_of_attempt if c.operation == COMPLETE and c.is_error]
        return len(refused) + conversation.texts_of_attempt
