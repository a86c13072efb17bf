"""What happens during a run, as events: the same from the worker of this process and from a gateway."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "agent_start",
    "message_start",
    "message_update",
    "message_end",
    "message_retry",
    "message_slow",
    "messages_steered",
    "auto_compaction_start",
    "auto_compaction_end",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "approval_requested",
    "approval_decided",
    "run_status",
    "agent_end",
    "gateway_lost",
    "gateway_back",
]
"""`gateway_lost` and `gateway_back` are told by whoever listens to a gateway, never by one."""


@dataclass(frozen=True)
class RunEvent:
    """One thing that happened in a run. `data` is JSON."""

    kind: Kind
    run_id: str
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def is_rest(self) -> bool:
        """Whether only a person can move the run now: it is done, waits, or stands behind one that waits."""
        if self.kind != "run_status":
            return False
        waits = self.data["status"] == "waiting" and bool(self.data["waiting_on"])
        return self.data["status"] == "done" or waits or self.data["blocked_by"] is not None
