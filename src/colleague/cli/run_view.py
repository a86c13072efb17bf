"""How a run looks while it goes on, and when it ends."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import typer

from colleague.cli.output import CROSS, TICK, note, plain, say, say_json
from colleague.cli.trouble_text import retry_line
from colleague.store.ids import short

if TYPE_CHECKING:
    from colleague.agent.events import Bus, Event
    from colleague.home import Home
    from colleague.store.tx import Database, Tx

WAITS = 4
LONGEST = 160
MOST_SHOWN = 400
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
            say(data["text"], end="")
            self._in_line = True
        elif event.kind == "tool_execution_start":
            self._end_line()
            self._show_call(event.run_id, data["operation"], data["arguments"])
        elif event.kind == "tool_execution_end" and data["is_error"]:
            note(f"    {CROSS} {data['operation']}: {_first_line(data['result'])}")
        elif event.kind == "message_retry":
            self._end_line()
            note(retry_line(data, event.run_id))
        elif event.kind == "message_slow":
            self._end_line()
            note(f"  … {data['text']}")
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

        found = [run_id for run_id in run_ids if get_run(tx, run_id).kind == "expert"]
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


async def say_documents(
    database: Database, home: Home, documents: Sequence[dict[str, Any]], *, as_json: bool
) -> None:
    """Tells how each run stands and sets the exit code."""
    for document in documents:
        Outcome.code = max(Outcome.code, exit_code_of(document))
        if not as_json:
            await say_end(database, home, document)
    if as_json:
        say_json(documents[0] if len(documents) == 1 else list(documents))


async def say_end(database: Database, home: Home, document: dict[str, Any]) -> None:
    """The end of a run that was waited for: the result on stdout, everything else beside it."""
    ending = short(document["id"])
    if document["status"] != "done":
        waits = document["status"] == "waiting"
        word = "waits for you" if waits else "stands behind a run that waits for you"
        note(f"run {ending} {word}:")
        for approval in await _holding(database, home, document):
            say_question(approval)
        return
    if document["outcome"] != "completed":
        note(f"{CROSS} run {ending} {document['outcome']}: {document['error']}")
    elif document["kind"] == "expert":
        _say_result(document)
    else:
        _say_drafts(document)


def _say_result(document: dict[str, Any]) -> None:
    """Of an expert; what the main agent says was shown while it spoke."""
    note(f"{TICK} run {short(document['id'])} completed")
    _say_drafts(document)
    say(document["narrative"] or "")
    if document["outputs"]:
        say(json.dumps(document["outputs"], indent=2, ensure_ascii=False))


def _say_drafts(document: dict[str, Any]) -> None:
    for each in document["notices"]:
        if each["kind"] == "draft":
            look = f"colleague approval show {short(each['subject'])}"
            note(f"  a draft waits for you: {each['body']['operation']} ({look})")


def exit_code_of(document: dict[str, Any]) -> int:
    if document["status"] != "done":
        return WAITS
    return 0 if document["outcome"] == "completed" else 1


async def _holding(database: Database, home: Home, document: dict[str, Any]) -> list[dict[str, Any]]:
    """The questions that hold this run, or the one it stands behind."""

    def work(tx: Tx) -> list[dict[str, Any]]:
        from colleague.experts.runs.report import approval_report
        from colleague.store.approvals import approvals_of
        from colleague.store.lanes import head_of

        behind = document["lane"] and document["status"] == "queued"
        holder = head_of(tx, document["lane"]) if behind else document["id"]
        holding = [each for each in approvals_of(tx, holder or document["id"]) if each.holds]
        return [approval_report(tx, home, each) for each in holding]

    return await database.read(work)


def say_question(approval: dict[str, Any]) -> None:
    arguments = plain(json.dumps(approval["arguments"], ensure_ascii=False))
    ending = short(approval["id"])
    note(f"  {approval['kind']} {ending}: {approval['operation']} {arguments[:MOST_SHOWN]}")
    if len(arguments) > MOST_SHOWN:
        note(f"    there is more of it: colleague approval show {ending}")
    if approval["reasoning"]:
        note(f"    because: {plain(approval['reasoning'])[:300]}")
    for command in COMMANDS[approval["kind"]]:
        note(f"    colleague {command.format(id=ending)}")


COMMANDS = {
    "confirm": ("approve {id}", "reject {id} --note WHY", 'respond {id} "TEXT"'),
    "low_confidence": ("approve {id}", "reject {id} --note WHY", 'respond {id} "TEXT"'),
    "learning": ("approve {id}", "reject {id}"),
    "draft": ("done {id}", "not-done {id}"),
    "uncertain": ("resolve {id} happened", "resolve {id} again", "resolve {id} give-up"),
}
