"""Another try at a run that has ended: same run, same transcript, end of its lane, today's package."""

from __future__ import annotations

import json
from typing import Any

from colleague.errors import ColleagueError
from colleague.experts.accepted import accept_command
from colleague.experts.expert import Expert, find_expert
from colleague.experts.runs.invoke import checked_inputs
from colleague.home import Home
from colleague.packages.package import Package
from colleague.packages.snapshot import take_snapshot
from colleague.store.claims import revive
from colleague.store.run import Run, get_run, lock_run
from colleague.store.steps import renew_steps
from colleague.store.tables import runs
from colleague.store.tx import Database, Tx

ENDED_BADLY = ("failed", "dead_letter", "abandoned", "cancelled")


async def retry_run(database: Database, home: Home, run_id: str, changes: dict[str, Any]) -> None:
    """Begins the next attempt, with `changes` to its inputs. Raises when the run did not end badly."""
    run = await database.read(lambda tx: get_run(tx, run_id))
    _require_bad_end(run)
    expert = find_expert(home, run.expert) if run.kind == "expert" else None
    package = expert.load() if expert else None
    if expert is not None and package is not None:
        _require_no_return(expert, package)
    inputs = json.loads(run.inputs) | changes
    if package is not None:
        _check(package, run, inputs)
        take_snapshot(package, home.snapshots)
    await database.write(lambda tx: _retry(tx, run_id, package, inputs))


def _require_no_return(expert: Expert, package: Package) -> None:
    """The run is older than the version in the folder may be, and would have that version's rights."""
    if not expert.accepts(package.digest) and package.digest in dict(expert.record.earlier):
        raise ColleagueError(
            f"{expert.root} holds an earlier version of {expert.name} again", hint=accept_command(expert)
        )


def _require_bad_end(run: Run) -> None:
    if run.outcome not in ENDED_BADLY:
        state = run.outcome or run.status
        raise ColleagueError(f"run {run.id[-8:]} is {state}, so there is nothing to retry")


def _check(package: Package, run: Run, inputs: dict[str, Any]) -> None:
    process = package.process(run.process) if run.process else None
    if run.process and process is None:
        raise ColleagueError(
            f"{run.expert} {package.manifest.version} has no process {run.process!r} any more",
            hint="drop it, or install the version that had it",
        )
    if process is not None:
        checked_inputs(process, {name: value for name, value in inputs.items() if name != "task"})


def _retry(tx: Tx, run_id: str, package: Package | None, inputs: dict[str, Any]) -> None:
    run = lock_run(tx, run_id)
    _require_bad_end(run)
    values: dict[str, Any] = {"inputs": json.dumps(inputs, ensure_ascii=False)}
    if package is not None:
        values |= {"digest": package.digest, "version": package.manifest.version}
    tx.update(runs, {"id": run.id}, **values)
    process = package.process(run.process) if package else None
    if process is not None:
        texts = [step.text for step in process.steps]
        renew_steps(tx, run_id, texts, keep=run.took_over or not process.execution.idempotent)
    revive(tx, run_id)


def drop_dead_letter(tx: Tx, run_id: str, by: str) -> None:
    """A person has looked at it and wants no more of it."""
    run = lock_run(tx, run_id)
    if run.outcome != "dead_letter":
        raise ColleagueError(f"run {run_id[-8:]} is no dead letter: it is {run.outcome or run.status}")
    tx.update(runs, {"id": run.id}, outcome="abandoned", error=f"{run.error} (dropped by {by})")
