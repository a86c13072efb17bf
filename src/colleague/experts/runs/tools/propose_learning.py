"""Proposing something worth remembering. Nothing is learned before it is approved as the package says."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.experts.runs.tools.names import PROPOSE_LEARNING
from colleague.packages.learning import Learning
from colleague.store.approvals import LEARNINGS, Ask, Kind, approvals_of, raise_asks
from colleague.store.main_news import LEARNING
from colleague.store.outbox import put_in_outbox
from colleague.store.run import Run, get_run, lock_run
from colleague.store.tx import Database, Tx

PACKAGE = "package"
FIELDS = ("scope", "title", "observation", "correction", "confidence")


def propose_learning_spec(functions: list[str]) -> ToolSpec:
    text = {"type": "string", "minLength": 1, "maxLength": 4000}
    return ToolSpec(
        name=PROPOSE_LEARNING,
        description=(
            "Proposes a lesson for later runs: something a person corrected, or that will come again. It "
            "counts once it is approved; go on without waiting."
        ),
        parameters={
            "type": "object",
            "properties": {
                "scope": {"type": "string", "enum": [PACKAGE, *functions], "description": "What it is about"},
                "title": text | {"maxLength": 200},
                "observation": text | {"description": "What you saw"},
                "correction": text | {"description": "What to do instead, and when"},
                "confidence": {"type": "string", "enum": ["high", "medium", "low"]},
            },
            "required": [*FIELDS],
        },
        repeatable=True,
        told=True,
    )


@dataclass(frozen=True)
class ProposeLearningTool:
    """By tier: written down at once, after a yes, or left for a person to write."""

    database: Database
    learning: Learning
    channel: str
    spec: ToolSpec

    async def call(self, request: ToolRequest) -> ToolOutput:
        said = await self.database.write(lambda tx: self._propose(tx, request))
        return ToolOutput(said)

    def _propose(self, tx: Tx, request: ToolRequest) -> str:
        run = lock_run(tx, request.run_id)
        entry = json.dumps(self._entry(tx, run, request), ensure_ascii=False)
        if self.learning.approval == "auto":
            put_in_outbox(tx, run.id, "learning", request.call_id, LEARNINGS, entry)
            return "The learning is taken."
        if not any(each.call_id == request.call_id for each in approvals_of(tx, run.id)):
            kind: Kind = "learning" if self.learning.approval == "confirm" else "draft"
            digest = hashlib.sha256(entry.encode()).hexdigest()
            ask = Ask(request.call_id, kind, LEARNING, entry, digest, channel=self.channel)
            raise_asks(tx, run, [ask])
        return "The learning is proposed; a person decides. Go on."

    def _entry(self, tx: Tx, run: Run, request: ToolRequest) -> dict[str, Any]:
        day = datetime.fromtimestamp(tx.now / 1000, UTC).date().isoformat()
        about = {"id": request.call_id, "expert": get_run(tx, run.id).expert, "date": day}
        source = f"run {run.id[-8:]}" + (f", {run.process}" if run.process else "")
        said = {name: request.arguments[name] for name in FIELDS}
        return said | about | {"source": source, "most": self.learning.max_entries_per_file}
