"""What an agent is told when a run, or another attempt at it, begins."""

from __future__ import annotations

import json
from typing import Protocol

from colleague.agent.presenting import wrapped
from colleague.store.run import Run


def failure_text(error: str) -> str:
    """Why the last attempt failed. The reason may repeat what a server, a model or a person said."""
    return f"The last attempt failed:\n{wrapped(error, 'error')}"


class Words(Protocol):
    """Said again after a crash, so they follow from the run itself."""

    async def first(self, run: Run) -> str: ...
    async def again(self, run: Run, error: str) -> str: ...


class PlainWords:
    """The message of a person, or the inputs as they are."""

    async def first(self, run: Run) -> str:
        inputs = json.loads(run.inputs)
        return (
            str(inputs["message"]) if set(inputs) == {"message"} else json.dumps(inputs, ensure_ascii=False)
        )

    async def again(self, run: Run, error: str) -> str:  # noqa: ARG002 - others tell what is done
        return f"[{failure_text(error)}\nGo on from where you were; what is done is done.]"
