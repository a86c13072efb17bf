"""What follows from the end of an expert's run: delivery, escalation, and a tidy workspace."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from colleague.agent.privacy import Private
from colleague.experts.delivery import deliver, escalate
from colleague.experts.scratch import remove_scratch
from colleague.experts.state import Workspace, remove_session
from colleague.packages.package import Package
from colleague.store.run import Outcome, Run
from colleague.store.tx import Database, Tx
from colleague.store.versions import files_written_by, forget_owner, forget_session_files

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ExpertAfterwards:
    """`owner` is whose file versions they are: the expert's, or a dry run's own."""

    package: Package
    workspace: Workspace
    database: Database
    owner: str
    private: Private

    def completed(self, tx: Tx, run: Run, narrative: str, outputs: dict[str, Any] | None) -> None:
        if not run.dry_run:
            deliver(tx, self.package, run, narrative, outputs)

    def failed(self, tx: Tx, run: Run, outcome: Outcome, error: str) -> None:
        """Abandoned runs are only logged; everything else is told to a person."""
        log.warning("run %s of %s: %s: %s", run.id, run.expert, outcome, error)
        if outcome != "abandoned" and not run.dry_run:
            escalate(tx, self.package, run, outcome, error, self.private)

    async def tidy(self, run: Run, outcome: Outcome) -> None:
        """A dry run leaves nothing; success needs no scratch files; after a failure they are kept a while."""
        if run.dry_run:
            await asyncio.to_thread(self.workspace.remove)
            await self.database.write(lambda tx: forget_owner(tx, self.owner))
        elif outcome == "completed":
            written = await self.database.read(lambda tx: files_written_by(tx, self.owner, run.id))
            if paths := [path for path in written if path.startswith("scratch/")]:
                await asyncio.to_thread(remove_scratch, self.workspace, paths)
            if (self.workspace.sessions / run.id).exists():
                await asyncio.to_thread(remove_session, self.workspace, run.id)
                await self.database.write(lambda tx: forget_session_files(tx, self.owner, run.id))
