"""How a run looks while it goes on, and when it ends."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import typer

from colleague.cli.output import CROSS, TICK, note, say, say_json
from colleague.store.ids import short

if TYPE_CHECKING:
    from colleague.agent.events import Bus, Event
    from colleague.home import Home
    from colleague.store.run import Run
    from colleague.store.tx import Database, Tx

WAITS = 4
LONGEST = 160
QUIET = ("mark_step", "complete", "function_result")
MARKS = {"done": TICK, "skipped": "-", "failed": CROSS, "open": " "}


class Outcome:
    """The exit code of a command that waited for runs, kept until everything is closed."""

    code = 0


def end_with() -> None:
    code, Outcome.code = Outcome.code, 0
    if code:
        raise typer.Exit(code)


class Watching:
    """Streams what the agent says to stdout, and what it does to stderr, while a block lasts.

    Of an expert's run (one of `experts`, with the steps of its process) the words are left for the end,
    when the whole result is known."""

    def __init__(self, bus: Bus, *, quiet: bool, experts: Mapping[str, Sequence[str]] | None = None) -> None:
        self._bus = bus
        self._quiet = quiet
        self._experts = experts or {}
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
        if event.kind == "message_update" and "text" in data and event.run_id not in self._experts:
            typer.echo(data["text"], nl=False)
            self._in_line = True
        elif event.kind == "tool_execution_start":
            self._end_line()
            self._show_call(event.run_id, data["operation"], data["arguments"])
        elif event.kind == "tool_execution_end" and data["is_error"]:
            note(f"    {CROSS} {data['operation']}: {_first_line(data['result'])}")
        elif event.kind == "run_status" and data.get("status") == "retrying":
            note(f"  {CROSS} {data['error']}; next attempt in {data['in_ms'] / 1000:.0f} s")

    def _show_call(self, run_id: str, operation: str, arguments: dict[str, Any]) -> None:
        if operation == "mark_step":
            note(_step(self._experts.get(run_id, ()), arguments))
        elif operation not in QUIET:
            note(f"    {operation} {_brief(arguments)}")

    def _end_line(self) -> None:
        if self._in_line:
            say()
            self._in_line = False


async def experts_steps(database: Database, run_ids: Sequence[str]) -> dict[str, list[str]]:
    """The runs among these that are an expert's, with the steps of their processes."""

    def work(tx: Tx) -> dict[str, list[str]]:
        from colleague.store.run import get_run
        from colleague.store.steps import steps_of

        found = [run_id for run_id in run_ids if get_run(tx, run_id).digest]
        return {run_id: [step.text for step in steps_of(tx, run_id)] for run_id in found}

    return await database.read(work)


def _step(steps: Sequence[str], arguments: dict[str, Any]) -> str:
    number = int(arguments["step"])
    text = steps[number - 1] if 0 < number <= len(steps) else arguments.get("note", "")
    return f"  {MARKS[arguments['status']]} {number}. {first_sentence(text)}"


def _brief(arguments: dict[str, Any]) -> str:
    """The path of a file, or the arguments, on one line."""
    if isinstance(arguments.get("path"), str):
        return str(arguments["path"])
    return json.dumps(arguments, ensure_ascii=False)[:LONGEST]


def _first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return " ".join(lines[:2])[:300]


def first_sentence(text: str) -> str:
    return text.split(". ")[0].rstrip(".")[:110]


async def say_runs(database: Database, home: Home, runs: Sequence[Run], *, as_json: bool) -> None:
    """Tells how each run stands and sets the exit code."""
    documents = []
    for run in runs:
        asked = await _holding(database, home, run)
        documents.append(_document(run, asked))
        Outcome.code = max(Outcome.code, exit_code_of(run))
        if not as_json:
            _say_run(run, asked)
    if as_json:
        say_json(documents[0] if len(documents) == 1 else documents)


async def say_end(database: Database, home: Home, run: Run, document: dict[str, Any]) -> None:
    """The end of one expert run that was waited for: the result on stdout, everything else beside it."""
    if run.status != "done":
        _say_run(run, await _holding(database, home, run))
        return
    if run.outcome != "completed":
        note(f"{CROSS} run {short(run.id)} {run.outcome}: {run.error}")
        return
    note(f"{TICK} run {short(run.id)} completed")
    for each in document["notices"]:
        if each["kind"] == "draft":
            ending = short(each["subject"])
            note(f"  a draft waits for you: {each['body']['operation']} (colleague approval show {ending})")
    say(document["narrative"] or "")
    if document["outputs"]:
        say(json.dumps(document["outputs"], indent=2, ensure_ascii=False))


def exit_code_of(run: Run) -> int:
    if run.status != "done":
        return WAITS
    return 0 if run.outcome == "completed" else 1


async def _holding(database: Database, home: Home, run: Run) -> list[dict[str, Any]]:
    """The questions that hold this run, or the one it stands behind."""

    def work(tx: Tx) -> list[dict[str, Any]]:
        from colleague.experts.reporting import approval_report
        from colleague.store.approvals import approvals_of
        from colleague.store.lanes import head_of

        holder = head_of(tx, run.lane) if run.lane and run.status == "queued" else run.id
        holding = [each for each in approvals_of(tx, holder or run.id) if each.holds]
        return [approval_report(tx, home, each) for each in holding]

    return await database.read(work)


def _document(run: Run, asked: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": run.id,
        "status": run.status,
        "outcome": run.outcome,
        "narrative": run.narrative,
        "outputs": json.loads(run.outputs) if run.outputs else None,
        "error": run.error,
        "waiting_on": [approval["id"] for approval in asked],
    }


def _say_run(run: Run, asked: list[dict[str, Any]]) -> None:
    if run.status == "done":
        if run.outcome != "completed":
            note(f"{CROSS} run {short(run.id)} {run.outcome}: {run.error}")
        elif run.digest:
            note(f"{TICK} run {short(run.id)} completed")
            say(run.narrative or "")
        return
    word = "waits for you" if run.status == "waiting" else "stands behind a run that waits for you"
    note(f"run {short(run.id)} {word}:")
    for approval in asked:
        say_question(approval)


def say_question(approval: dict[str, Any]) -> None:
    arguments = json.dumps(approval["arguments"], ensure_ascii=False)
    ending = short(approval["id"])
    note(f"  {approval['kind']} {ending}: {approval['operation']} {arguments[:400]}")
    if approval["reasoning"]:
        note(f"    because: {approval['reasoning'][:300]}")
    for command in COMMANDS[approval["kind"]]:
        note(f"    colleague {command.format(id=ending)}")


COMMANDS = {
    "confirm": ("approve {id}", "reject {id} --note WHY", 'respond {id} "TEXT"'),
    "low_confidence": ("approve {id}", "reject {id} --note WHY", 'respond {id} "TEXT"'),
    "learning": ("approve {id}", "reject {id}"),
    "draft": ("done {id}", "not-done {id}"),
    "uncertain": ("resolve {id} happened", "resolve {id} again", "resolve {id} give-up"),
}
