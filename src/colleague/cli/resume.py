"""Whether a run can be gone on with, and what to do instead where not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colleague.errors import ColleagueError
from colleague.run_document import RunDocument, short

if TYPE_CHECKING:
    from colleague.runtime.service import Service


def require_open(run: RunDocument) -> None:
    """Raises ColleagueError for a run that has ended, or waits for a person."""
    ending = short(run["id"])
    if run["status"] == "done":
        raise ColleagueError(f"run {ending} has ended: {run['outcome']}", hint=_after_the_end(run))
    if run["status"] == "waiting" and run["waiting_on"]:
        asked = " ".join(map(short, run["waiting_on"]))
        raise ColleagueError(
            f"run {ending} waits for a person", hint=f"decide: colleague approve {asked}, or colleague reject"
        )


def _after_the_end(run: RunDocument) -> str:
    ending = short(run["id"])
    if run["outcome"] == "completed":
        return f"look at it: colleague run show {ending}"
    return f"try it again: colleague run retry {ending}"


async def require_free(service: Service, run: RunDocument) -> None:
    """Raises ColleagueError while another process works on it and renews its lease.

    On SQLite whoever asks holds the home, or a gateway does."""
    from colleague.runtime.remote_service import RemoteService

    if isinstance(service, RemoteService) or run["status"] != "running":
        return
    from colleague.runtime.local_runs import LocalRuns

    worker = await service.holder(run["id"]) if isinstance(service, LocalRuns) else ""
    if worker:
        ending = short(run["id"])
        hint = f"watch: colleague run watch {ending}"
        raise ColleagueError(f"run {ending} is under way: {worker} works on it", hint=hint)
