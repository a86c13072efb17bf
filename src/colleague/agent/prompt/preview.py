"""A turn that is only looked at: what it would be told, and which tools it would have."""

from __future__ import annotations

from colleague.session_key import SessionKey
from colleague.store.run import Run, RunKind
from colleague.store.session_entry import SessionEntry


def preview_run(entry: SessionEntry) -> Run:
    """It is never stored."""
    kind: RunKind = "subagent" if SessionKey.parse(entry.key).is_subagent else "agent"
    return Run(
        id="",
        event_id=None,
        expert=entry.agent_id,
        version="",
        digest="",
        process="",
        inputs="{}",
        session_key=entry.key,
        model="",
        lane=None,
        seq=0,
        status="queued",
        ready=False,
        outcome=None,
        error=None,
        narrative=None,
        outputs=None,
        attempt=1,
        dispatch=0,
        epoch=0,
        stalls=0,
        worker=None,
        working_ms=0,
        retry_at=None,
        created_at=0,
        started_at=None,
        ended_at=None,
        dry_run=0,
        sla=None,
        sla_breached_at=None,
        kind=kind,
    )
