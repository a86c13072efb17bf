"""Having an expert do something, looking at a run and following it, on an open database."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from colleague.experts.runs.model_name import model_name
from colleague.run_document import ApprovalDocument, RunDocument, RunHeading
from colleague.run_event import RunEvent
from colleague.runtime.requests import MOST_PENDING, AcceptedEvent, RunRequest, require_work
from colleague.runtime.run_heading import run_heading
from colleague.runtime.service_base import ServiceBase
from colleague.runtime.shown_levels import levels_of
from colleague.store.accept import Accepted, Arrival, accept
from colleague.store.lookup import full_id
from colleague.store.outbox import mark_read
from colleague.store.run import get_run
from colleague.store.session_entry import find_session
from colleague.store.sql import select
from colleague.store.tables import approvals, events, outbox, runs
from colleague.store.tx import Tx

if TYPE_CHECKING:
    from colleague.runtime.run_events import RunWatchers

OFTEN = 0.3


class LocalRuns(ServiceBase):
    """With a `host` it works on the runs that are followed; without one, or when `watchers` tell what a
    worker of this process does, it looks on."""

    async def start(self, asked: RunRequest) -> AcceptedEvent:
        from colleague.experts.expert import find_expert
        from colleague.experts.runs.inputs import find_process
        from colleague.experts.runs.invoke import Invocation, checked_inputs

        require_work(asked)
        self._require_enforced()

        def arrive() -> Arrival:
            found = find_expert(self.home, asked.expert)
            invoked = Invocation(self.home, found, found.load(), asked.model, asked.dry_run)
            process = find_process(invoked.package, asked.process) if asked.process else None
            if process is not None:
                checked_inputs(process, asked.inputs)
            self._preflight.check_expert(
                found, invoked.package, process, asked.model, dry_run=bool(asked.dry_run)
            )
            if process is not None:
                return invoked.process(process, asked.inputs, source=self.source)
            return invoked.task(asked.task, source=self.source)

        arrival = await asyncio.to_thread(arrive)
        return accepted_event(
            await self.database.write(lambda tx: self._begun(tx, "run.start", accept(tx, arrival), arrival))
        )

    async def event(self, event: str) -> dict[str, Any]:
        from colleague.experts.runs.redacted_report import event_report

        return await self.database.read(
            lambda tx: event_report(tx, self.home, full_id(tx, events, "event", event))
        )

    def _begun(self, tx: Tx, action: str, accepted: Accepted, arrival: Arrival) -> Accepted:
        """Notes that somebody set a run going."""
        from colleague.store.audit import Change

        about = {"dry_run": arrival.dry_run, "process": arrival.process}
        subject = arrival.trigger or accepted.event_id
        self._note(tx, Change(action, subject, arrival.expert, accepted.run_id, about))
        return accepted

    async def read(self, delivery: str, by: str) -> bool:
        return await self.database.write(
            lambda tx: bool(mark_read(tx, [full_id(tx, outbox, "delivery", delivery)], by))
        )

    async def run(self, run: str) -> RunDocument:
        from colleague.experts.runs.redacted_report import run_report

        def work(tx: Tx) -> RunDocument:
            document = run_report(tx, self.home, full_id(tx, runs, "run", run))
            key = document["session_key"]
            name = model_name(self.home, self.settings, self.environ, document)
            return {**document, "model": name, "levels": levels_of(self.settings, key, find_session(tx, key))}

        return await self.database.read(work)

    async def heading(self, run: str) -> RunHeading:
        def work(tx: Tx) -> RunHeading:
            found = get_run(tx, full_id(tx, runs, "run", run))
            return run_heading(tx, self.home, self.settings, self.environ, found)

        return await self.database.read(work)

    async def approval(self, approval: str) -> ApprovalDocument:
        from colleague.experts.runs.redacted_report import approval_report
        from colleague.store.approvals import get_approval

        def work(tx: Tx) -> ApprovalDocument:
            found = get_approval(tx, full_id(tx, approvals, "approval", approval))
            return approval_report(tx, self.home, found)

        return await self.database.read(work)

    async def pending(self) -> list[ApprovalDocument]:
        from colleague.experts.runs.redacted_report import approval_report
        from colleague.store.approvals import pending_approvals

        def work(tx: Tx) -> list[ApprovalDocument]:
            return [approval_report(tx, self.home, each) for each in pending_approvals(tx, MOST_PENDING)]

        return await self.database.read(work)

    async def follow(self, runs: Sequence[str]) -> AsyncGenerator[RunEvent]:
        run_ids = [await self._run_id(run) for run in runs]
        async with self._advancing(run_ids) as watchers:
            for run_id in run_ids:
                async for event in self._until_rest(run_id, watchers):
                    yield event

    @contextlib.asynccontextmanager
    async def _advancing(self, run_ids: Sequence[str]) -> AsyncIterator[RunWatchers | None]:
        """Works on these runs while the block lasts; left early, the work is stopped."""
        if self.host is None or self.watchers is not None:
            yield self.watchers
            return
        from colleague.runtime.run_events import RunWatchers

        host = await self.host.opened()
        watchers = RunWatchers(host.bus)
        working = asyncio.create_task(host.advance_only(run_ids))
        working.add_done_callback(lambda _: watchers.close())
        try:
            yield watchers
            await working
        finally:
            watchers.stop_watching()
            working.cancel()
            await asyncio.wait({working})

    async def _until_rest(self, run_id: str, watchers: RunWatchers | None) -> AsyncIterator[RunEvent]:
        events = self.events(run_id, watchers, look_seconds=None if watchers else OFTEN)
        async with contextlib.aclosing(events):
            async for event in events:
                if event is None:
                    continue
                yield event
                if event.is_rest:
                    return

    async def _run_id(self, ending: str) -> str:
        return await self.database.read(lambda tx: full_id(tx, runs, "run", ending))

    async def holder(self, run_id: str) -> str:
        """The worker that has the run and still renews its lease; empty when nobody does, or on SQLite."""
        from colleague.store.sweep import GRACE_MS

        def work(tx: Tx) -> str:
            query = select(runs.c.worker, runs.c.lease_until).where(runs.c.id == run_id)
            row = tx.one(query)
            held = row is not None and (row.lease_until or 0) >= self.database.lease_now(tx) - GRACE_MS
            return str(row.worker) if row is not None and held else ""

        return await self.database.read(work) if self.database.shared else ""


def accepted_event(found: Accepted) -> AcceptedEvent:
    return AcceptedEvent(found.event_id, found.run_id, found.duplicate)
