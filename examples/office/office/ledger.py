"""The record of every effect the office had."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from office.store import insert, now

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """One call of an operation that changes something. `key` is the idempotency key, when there is one."""

    operation: str
    arguments: Mapping[str, Any]
    key: str | None = None

    @property
    def arguments_json(self) -> str:
        """What was given, without what was left out."""
        given = {name: value for name, value in self.arguments.items() if value not in ("", ())}
        return json.dumps(given, ensure_ascii=False, sort_keys=True)


def perform(
    db: sqlite3.Connection, request: Request, effect: Callable[[], Result], *, honour: bool
) -> Result:
    """Makes the effect and writes it down. An honoured key that was seen gives its first result again."""
    if honour and request.key is not None and (earlier := _earlier(db, request)) is not None:
        return earlier
    result = effect()
    row = {
        "time": now(),
        "operation": request.operation,
        "arguments": request.arguments_json,
        "idempotency_key": request.key,
        "result": json.dumps(result, ensure_ascii=False),
    }
    insert(db, "ledger", row)
    return result


def _earlier(db: sqlite3.Connection, request: Request) -> Result | None:
    row = db.execute("SELECT * FROM ledger WHERE idempotency_key = ?", (request.key,)).fetchone()
    if row is None:
        return None
    if (row["operation"], row["arguments"]) != (request.operation, request.arguments_json):
        raise ToolError(
            f"the key {request.key} was used for another call of {row['operation']}; use a new key"
        )
    result: Result = json.loads(row["result"])
    return result
