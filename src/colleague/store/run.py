"""A run as it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from colleague.errors import NotFound
from colleague.run_document import DryRun, RunOutcome, RunStatus
from colleague.store.lanes import lock_lane
from colleague.store.sql import select
from colleague.store.tables import runs
from colleague.store.tx import Fenced, Tx

Status = RunStatus
Outcome = RunOutcome
RunKind = Literal["expert", "agent", "subagent"]
"""Who works on a run: an expert under its policy, an agent that people talk to, or one that it spawned."""
_STRICT = 2
"""Stored for a dry run that sends only calls that read."""
DEEPEST_WORK = 10
"""How many times work can have been handed on, at most."""


@dataclass(frozen=True)
class Run:
    """One row of `runs`."""

    id: str
    event_id: str | None
    expert: str
    version: str
    digest: str
    process: str
    inputs: str
    session_key: str
    model: str
    lane: str | None
    seq: int
    status: Status
    ready: bool
    outcome: Outcome | None
    error: str | None
    narrative: str | None
    outputs: str | None
    attempt: int
    dispatch: int
    epoch: int
    stalls: int
    worker: str | None
    working_ms: int
    retry_at: int | None
    created_at: int
    started_at: int | None
    ended_at: int | None
    dry_run: int
    sla: str | None
    sla_breached_at: int | None
    kind: RunKind = "expert"
    trouble: str | None = None
    """JSON of a `store/trouble.py::Trouble`; None when all is well."""
    transcript: str | None = None
    """The transcript of the session in which this run is a turn; None when its messages are all there is."""
    parent_run: str | None = None
    """The run that handed this work over."""
    error_kind: str | None = None
    """Why it failed, as a word for programs; None when there is none."""
    forked_from: str | None = None
    """The run that this one is a fork of."""
    forked_step: int | None = None
    """The step of that run at which this one begins."""

    @property
    def dryness(self) -> DryRun:
        return "strict" if self.dry_run == _STRICT else bool(self.dry_run)

    @property
    def took_over(self) -> bool:
        """Whether it has steps and messages of another run, which are never done again."""
        return (self.forked_step or 1) > 1


def stored_dry_run(dry_run: DryRun) -> int:
    return _STRICT if dry_run == "strict" else int(dry_run)


def get_run(tx: Tx, run_id: str) -> Run:
    return _one(tx, run_id, lock=False)


def _one(tx: Tx, run_id: str, *, lock: bool) -> Run:
    found = tx.find(Run, runs, {"id": run_id}, lock=lock)
    if not found:
        raise NotFound(f"there is no run {run_id!r}")
    return found[0]


def lock_run(tx: Tx, run_id: str) -> Run:
    """Holds the lane of a run, then the run itself, and reads it under that lock.

    Everything that decides whether a run or its lane may go on comes through here: two people who each
    decide one of two approvals must not both see the other one pending."""
    if tx.locks_rows:
        lane = get_run(tx, run_id).lane
        if lane is not None:
            lock_lane(tx, lane)
    return lock_run_row(tx, run_id)


def lock_run_row(tx: Tx, run_id: str) -> Run:
    """The run alone, for writes that touch no lane."""
    return _one(tx, run_id, lock=True)


@dataclass(frozen=True)
class Hold:
    """A worker's claim on a run it took. Whatever it writes is fenced by the epoch."""

    run_id: str
    epoch: int
    lane: str | None
    """That of the run, which it keeps for ever."""


def fenced(tx: Tx, hold: Hold, *, lane: bool = False) -> Run:
    """The held run, locked, and its lane before it where asked for.

    Raises Fenced when someone else has taken it over or ended it."""
    if lane and hold.lane is not None:
        lock_lane(tx, hold.lane)
    return _held(lock_run_row(tx, hold.run_id), hold)


def require_hold(tx: Tx, hold: Hold) -> None:
    """Raises Fenced when the run is someone else's at this moment."""
    _held(get_run(tx, hold.run_id), hold)


def _held(run: Run, hold: Hold) -> Run:
    if run.epoch != hold.epoch or run.status != "running":
        raise Fenced(hold.run_id)
    return run


def tell_session(tx: Tx, run: Run) -> None:
    """After the commit, whoever watches the run, the session of a turn, or one that handed this work over,
    learns that it stands otherwise now."""
    tx.tell_pages()
    own = [run.session_key] if run.transcript is not None else []
    for key in (*own, *sessions_above(tx, run.parent_run)):
        tx.tell_changed(key)


def sessions_above(tx: Tx, run_id: str | None) -> list[str]:
    """The sessions of a run and of those that handed its work over, the nearest first."""
    found: list[str] = []
    while run_id is not None and len(found) < DEEPEST_WORK:
        row = tx.one(select(runs.c.session_key, runs.c.parent_run).where(runs.c.id == run_id))
        if row is None:
            break
        found.append(row.session_key)
        run_id = row.parent_run
    return found


def keep_model(tx: Tx, run_id: str, model: str) -> None:
    """From now on the run has this model, whatever bindings and settings say: it is known for what it was."""
    tx.update(runs, {"id": run_id}, model=model)
