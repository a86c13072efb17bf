"""What follows from the end of an expert's run: delivery, escalation, and the cleanup of its workspace."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Any

from colleague import activity
from colleague.agent.privacy import Private
from colleague.agent.turn_end import TurnEndHooks
from colleague.experts.delivery.main_arrival import MainArrival
from colleague.experts.delivery.text import deliver, delivery_body, delivery_of, escalate
from colleague.experts.runs.tools.names import COMPLETE
from colleague.experts.workspace.scratch import remove_scratch
from colleague.experts.workspace.workspace import Workspace, remove_session
from colleague.main_names import MAIN_CHANNEL, MAIN_TRANSCRIPT
from colleague.packages.package import Package
from colleague.store.approvals import approvals_of
from colleague.store.journal import Call, read_calls
from colleague.store.run import Outcome, Run
from colleague.store.tx import Database, Tx
from colleague.store.versions import files_written_by, forget_owner, forget_session_files

log = logging.getLogger(__name__)


def _delivery_approved(tx: Tx, run: Run) -> bool:
    """Whether a person approved the result itself, and not that of a function inside the run."""
    results = {each.id for each in read_calls(tx, run.id) if _is_result(each)}
    said = approvals_of(tx, run.id)
    return any(each.call_id in results and each.decision == "approve" for each in said)


def _is_result(call: Call) -> bool:
    ended = call.status == "finished" and not call.is_error
    return ended and call.operation == COMPLETE and call.session.partition("#")[0] == MAIN_TRANSCRIPT


@dataclass(frozen=True)
class ExpertRunEndHooks:
    """`owner` is whose file versions they are: the expert's, or a dry run's own."""

    package: Package
    workspace: Workspace
    database: Database
    owner: str
    private: Private
    stays_inside: bool = False
    """Whether nothing goes to a channel that a person has not approved: it stays in `main`."""
    arrival: MainArrival = field(default_factory=MainArrival)

    async def prepared(self, run: Run, narrative: str, outputs: dict[str, Any] | None) -> ExpertRunEndHooks:
        if run.dry_run or delivery_of(self.package, run).channel != MAIN_CHANNEL:
            return self
        text = delivery_body(self.package, run, narrative, outputs).get("narrative", "")
        return replace(self, arrival=await self.arrival.asked(run, text))

    def completed(self, tx: Tx, run: Run, narrative: str, outputs: dict[str, Any] | None) -> None:
        if not run.dry_run and not self._answers_in_session(run):
            held = self.stays_inside and not _delivery_approved(tx, run)
            deliver(tx, self.package, run, narrative, outputs, MAIN_CHANNEL if held else "")
        self.arrival.arrive(tx, run)

    def failed(self, tx: Tx, run: Run, outcome: Outcome, error: str) -> None:
        """Abandoned runs are only logged; everything else is told to a person."""
        log.warning("run %s of %s: %s: %s", run.id, run.expert, outcome, error, extra=activity.PRINTED)
        TurnEndHooks().failed(tx, run, outcome, error)
        if outcome != "abandoned" and not run.dry_run and not self._answers_in_session(run):
            channel = self.package.manifest.policy.escalation.channel
            told = MAIN_CHANNEL if self.stays_inside else channel
            escalate(tx, told, run, outcome, error, self.private)
        self.arrival.arrive(tx, run)

    def _answers_in_session(self, run: Run) -> bool:
        """Whether whoever asked has the answer already: in the session, or as the result of a call. What a
        process delivers elsewhere goes there as well."""
        return run.transcript is not None and delivery_of(self.package, run).channel == MAIN_CHANNEL

    async def cleanup(self, run: Run, outcome: Outcome) -> None:
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
