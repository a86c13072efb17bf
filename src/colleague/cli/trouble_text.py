"""What keeps a run from going on, as lines for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from colleague.cli.output import CROSS, plain
from colleague.cli.times import moment
from colleague.cli.typed import with_home
from colleague.run_document import AheadDocument, RunBrief, RunDocument, TroubleDocument, short

RETRYING = "retrying model"


def retry_line(data: dict[str, Any], run_id: str) -> str:
    """Of a `message_retry` event; `run_id` is given in the process that works on the run."""
    if data.get("then"):
        return f"  {CROSS} {plain(data['text'])}; {plain(data['then'])}"
    ending = short(run_id)
    resume = with_home(f'"colleague run resume {ending}"')
    cure = f"; Ctrl-C leaves run {ending} queued, {resume} goes on" if run_id else ""
    return f"  {CROSS} {plain(data['text'])}; next try in {_seconds(data['in_ms'] / 1000)}{cure}"


def trouble_line(trouble: TroubleDocument) -> str:
    """Of a run's document, for whoever looks on."""
    due, since = (datetime.fromisoformat(each or "") for each in (trouble["next_try_at"], trouble["since"]))
    # a clock that was set back meanwhile makes no pause longer than the whole trouble
    left = min(due - datetime.now(UTC), due - since).total_seconds()
    then = f"next try in {_seconds(left)}" if left > 0 else "asked again now"
    return f"{plain(trouble['text'])}; {then}"


def ahead_line(ahead: AheadDocument) -> str:
    """Of a run that a queued one stands behind."""
    if ahead["trouble"] and ahead["status"] == "running":
        return f"stands behind run {short(ahead['id'])}: {trouble_line(ahead['trouble'])}"
    due = f" until {moment(ahead['retry_at'])}" if ahead["status"] == "retrying" and ahead["retry_at"] else ""
    return f"stands behind run {short(ahead['id'])}, which is {ahead['status']}{due}"


def status_word(document: RunBrief | RunDocument) -> str:
    """The outcome of a run, or how it stands."""
    if document["trouble"] and document["status"] == "running":
        return RETRYING
    return str(document["outcome"] or document["status"])


def list_word(document: RunBrief) -> str:
    """The same in a list, where a fork, and a run that did nothing for real, say so."""
    kind = "rehearsal" if document["rehearsal"] else "dry run" if document["dry_run"] else ""
    origin = document["forked_from"]
    fork = f"fork of {short(origin['id'])}" if origin else ""
    kinds = ", ".join(filter(None, (kind, fork)))
    return status_word(document) + (f" ({kinds})" if kinds else "")


def _seconds(seconds: float) -> str:
    return f"{max(1, round(seconds))} s"
