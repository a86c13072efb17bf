"""What an agent is told when a run, or another attempt at it, begins."""

from __future__ import annotations

import json
from typing import Protocol

from colleague.agent.conversation import Content
from colleague.agent.render import attempt_failed
from colleague.store.run import Run


class OpeningMessages(Protocol):
    """Said again after a crash, so they follow from the run itself."""

    async def first(self, run: Run) -> Content: ...
    async def again(self, run: Run, error: str) -> str: ...


class PlainOpening:
    """The message of a person, or the inputs as they are."""

    async def first(self, run: Run) -> str:
        inputs = json.loads(run.inputs)
        return (
            str(inputs["message"]) if set(inputs) == {"message"} else json.dumps(inputs, ensure_ascii=False)
        )

    async def again(self, run: Run, error: str) -> str:  # noqa: ARG002 - others tell what is done
        return f"{attempt_failed(error)}\n[Go on from where you were; what is done is done.]"
