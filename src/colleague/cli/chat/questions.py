"""Which questions belong to a conversation: its own, and those of the work that it handed over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from colleague.run_document import ApprovalDocument
    from colleague.runtime.service import Service

DEEPEST = 10


@dataclass
class Questions:
    """Finds what is new. Nothing is asked about twice."""

    service: Service
    key: str
    seen: set[str] = field(default_factory=set)
    _sessions: dict[str, bool] = field(default_factory=dict)
    """Runs that were looked at, and whether they belong to the conversation."""

    async def new(self) -> list[ApprovalDocument]:
        fresh = [each for each in await self.service.pending() if each["id"] not in self.seen]
        self.seen.update(each["id"] for each in fresh)
        return [each for each in fresh if await self._belongs(each["run_id"])]

    async def open(self) -> list[ApprovalDocument]:
        """All that wait, whether they were asked about or not."""
        return [each for each in await self.service.pending() if await self._belongs(each["run_id"])]

    async def _belongs(self, run_id: str) -> bool:
        if run_id not in self._sessions:
            self._sessions[run_id] = await self._is_ours(run_id)
        return self._sessions[run_id]

    async def _is_ours(self, run_id: str | None) -> bool:
        for _ in range(DEEPEST):
            if not run_id:
                return False
            document: Any = await self.service.run(run_id)
            if document["session_key"] == self.key:
                return True
            run_id = document.get("parent_run")
        return False
