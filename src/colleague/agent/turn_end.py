"""What people see in a session when a turn of it ends."""

from __future__ import annotations

from typing import Any

from colleague.store.run import Outcome, Run
from colleague.store.session_items import NewItem, add_item
from colleague.store.tx import Tx


class TurnEndHooks:
    """An answer is in the session already; a turn that failed says so there."""

    def completed(self, tx: Tx, run: Run, narrative: str, outputs: dict[str, Any] | None) -> None:
        pass

    def failed(self, tx: Tx, run: Run, outcome: Outcome, error: str) -> None:  # noqa: ARG002 - a turn only fails
        if run.transcript is not None:
            add_item(
                tx,
                run.session_key,
                NewItem("event", f"This turn failed: {error}", source="turn", run_id=run.id),
            )

    async def cleanup(self, run: Run, outcome: Outcome) -> None:
        pass
