"""Trouble on request: operations that fail or answer late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp.server.mcpserver.exceptions import ToolError

from office.store import Store


@dataclass(frozen=True)
class Faults:
    """`fail`: how many times an operation fails before it works. `slow`: seconds its answer is late by."""

    fail: Mapping[str, int] = field(default_factory=dict)
    slow: Mapping[str, float] = field(default_factory=dict)

    def check(self, store: Store, operation: str) -> None:
        """Fails while there are failures left. Counted in the file, so a restart resets nothing."""
        if (limit := self.fail.get(operation, 0)) and (number := _next_failure(store, operation, limit)):
            raise ToolError(f"{operation} fails on request, {number} of {limit}; nothing was changed")


def _next_failure(store: Store, operation: str, limit: int) -> int:
    with store.transaction() as db:
        row = db.execute("SELECT count FROM failures WHERE operation = ?", (operation,)).fetchone()
        number = (row["count"] if row else 0) + 1
        if number > limit:
            return 0
        db.execute("INSERT OR REPLACE INTO failures VALUES (?, ?)", (operation, number))
        return number
