"""How a run looks while it goes on, and when it ends."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import typer

from colleague.cli.output import CROSS, note, say, say_json
from colleague.store.approvals import Approval, approvals_of
from colleague.store.ids import short

if TYPE_CHECKING:
    from colleague.agent.events import Bus, Event
    from colleague.store.run import Run
    from colleague.store.tx import Database

WAITS = 4


class Outcome:
    """The exit code of a command that waited for runs, kept until everything is closed."""

    code = 0


def end_with() -> None:
    code, Outcome.code = Outcome.code, 0
    if code:
        raise typer.Exit(code)


class Watching:
    """Streams what the agent says to stdout, and what it does to stderr, while a block lasts."""

    def __init__(self, bus: Bus, *, quiet: bool) -> None:
        self._bus = bus
        self._quiet = quiet
        self._in_line = False

    def __enter__(self) -> Self:
        self._stop = self._bus.watch(self._show)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ValueError):
            self._stop()
        self._end_line()

    def _show(self, event: Event) -> None:
        if self._quiet:
            return
        data: dict[str, Any] = event.data
        if event.kind == "message_update" and "text" in data:
            typer.echo(data["text"], nl=False)
            self._in_line = True
        elif event.kind == "tool_execution_start":
            self._end_line()
            note(f"  {data['operation']} {json.dumps(data['arguments'], ensure_ascii=False)[:200]}")
        elif event.kind == "tool_execution_end" and data["is_error"]:
            note(f"  {CROSS} {data['operation']}: {data['result'][:300]}")
        elif event.kind == "run_status" and data.get("status") == "retrying":
            note(f"  {CROSS} {data['error']}; next attempt in {data['in_ms'] / 1000:.0f} s")

    def _end_line(self) -> None:
        if self._in_line:
            say()
            self._in_line = False


async def say_runs(database: Database, runs: Sequence[Run], *, as_json: bool) -> None:
    """Tells how each run stands and sets the exit code."""
    documents = []
    for run in runs:
        asked = await _holding(database, run)
        documents.append(_document(run, asked))
        Outcome.code = max(Outcome.code, _code(run))
        if not as_json:
            _say_run(run, asked)
    if as_json:
        say_json(documents[0] if len(documents) == 1 else documents)


def _code(run: Run) -> int:
    if run.status != "done":
        return WAITS
    return 0 if run.outcome == "completed" else 1


async def _holding(database: Database, run: Run) -> list[Approval]:
    """The questions that hold this run, or the one it stands behind."""

    def work(tx: Any) -> list[Approval]:
        from colleague.store.lanes import head_of

        holder = head_of(tx, run.lane) if run.lane and run.status == "queued" else run.id
        return [each for each in approvals_of(tx, holder or run.id) if each.holds]

    return await database.read(work)


def _document(run: Run, asked: list[Approval]) -> dict[str, Any]:
    return {
        "id": run.id,
        "status": run.status,
        "outcome": run.outcome,
        "narrative": run.narrative,
        "error": run.error,
        "waiting_on": [approval.id for approval in asked],
    }


def _say_run(run: Run, asked: list[Approval]) -> None:
    if run.status == "done":
        if run.outcome != "completed":
            note(f"{CROSS} run {short(run.id)} {run.outcome}: {run.error}")
        return
    word = "waits for you" if run.status == "waiting" else "stands behind a run that waits for you"
    note(f"run {short(run.id)} {word}:")
    for approval in asked:
        say_question(approval)


def say_question(approval: Approval) -> None:
    arguments = json.dumps(json.loads(approval.arguments), ensure_ascii=False)
    note(f"  {approval.kind} {short(approval.id)}: {approval.operation} {arguments[:400]}")
    if approval.reasoning:
        note(f"    because: {approval.reasoning[:300]}")
    for command in COMMANDS[approval.kind]:
        note(f"    colleague {command.format(id=short(approval.id))}")


COMMANDS = {
    "confirm": ("approve {id}", "reject {id} --note WHY", 'respond {id} "TEXT"'),
    "low_confidence": ("approve {id}", "reject {id} --note WHY", 'respond {id} "TEXT"'),
    "learning": ("approve {id}", "reject {id}"),
    "draft": ("done {id}", "not-done {id}"),
    "uncertain": ("resolve {id} happened", "resolve {id} again", "resolve {id} give-up"),
}
