"""The prompt that a turn would have, for people who look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colleague.session_key import SessionKey
from colleague.store.run import Run, RunKind
from colleague.store.session_entry import SessionEntry


@dataclass(frozen=True)
class PromptPreview:
    """The whole prompt, and how long its parts are (`report.py::prompt_report`)."""

    text: str
    report: dict[str, Any]


def preview_run(entry: SessionEntry) -> Run:
    """A turn that is never stored: only which tools it would have is asked."""
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
