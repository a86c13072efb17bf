"""What a rehearsal says about itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from colleague.experts.rehearsal.history import FinishedCall
from colleague.experts.rehearsal.plan import Move
from colleague.experts.rehearsal.planned_call import SIMULATED
from colleague.packages.package import Package

_LONGEST_STEP = 80
_MOST_NAMES = 12


def call_sentence(move: Move) -> str:
    """One short sentence about the next call."""
    if move.tool == "mark_step":
        return f"Rehearsal: step {move.subject} is walked."
    if move.tool == "complete":
        return "Rehearsal: the end of the checklist is reached."
    doing = {"read": "reads", "write": "writes", "function_result": "makes up the outputs of"}
    who = f"step {move.step} " if move.step else ""
    what = f"{doing[move.tool]} {move.subject}" if move.tool in doing else f"calls {move.tool}"
    return f"Rehearsal: {who}{what}."


def narrative(
    what: str, called: Sequence[tuple[str, FinishedCall]], left_out: Iterable[Move], written: str = ""
) -> str:
    """The end of a walk, in two to four sentences. `called` are the operations by name; `written` is what the
    author of the package says in a model's place."""
    operations = [f"{name}{_how(call)}" for name, call in called]
    drafts = [name for name, call in called if _is_draft(call)]
    texts = "examples of its author" if written else "placeholders"
    sentences = [f"This was a rehearsal of {what}: no model was asked, and the texts in it are {texts}."]
    if not written or any(_how(call) for _, call in called):
        sentences.append(f"It called {_named(operations)}." if operations else "It called no operation.")
    if drafts and not written:
        sentences.append(f"As a draft for a person waits {_named(drafts)}.")
    missing = [move.label for move in left_out]
    if missing:
        sentences.append(f"Left out, because it cannot be reached here, was {_named(missing)}.")
    return "\n\n".join(filter(None, (written, " ".join(sentences))))


def nobody_read(package: Package) -> str:
    """The answer to a free task."""
    names = [process.name for process in package.processes]
    can = f"What can be rehearsed: {_named(names)}." if names else "The package has no process to rehearse."
    return f"Rehearsal: this is a rehearsal without a model, so nobody read the task. {can}"


def short(text: str) -> str:
    return text if len(text) <= _LONGEST_STEP else f"{text[: _LONGEST_STEP - 3].rstrip()}..."


def _how(call: FinishedCall) -> str:
    """Nothing for a call that was really made."""
    if call.source == SIMULATED:
        return " (simulated)"
    return " (described only)" if _is_described(call) else ""


def _is_draft(call: FinishedCall) -> bool:
    return not call.source and "draft" in call.text.casefold() and not _is_described(call)


def _is_described(call: FinishedCall) -> bool:
    return not call.source and "dry run" in call.text.casefold()


def _named(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    if len(distinct) > _MOST_NAMES:
        distinct = [*distinct[:_MOST_NAMES], f"{len(distinct) - _MOST_NAMES} more"]
    return f"{', '.join(distinct[:-1])} and {distinct[-1]}" if len(distinct) > 1 else distinct[0]
