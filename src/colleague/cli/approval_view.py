"""A question as a person reads it: how to decide it, what would happen, why; ids last."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from colleague.cli.output import behind_bar, plain
from colleague.cli.times import moment
from colleague.cli.typed import with_home
from colleague.run_document import ApprovalDocument, short

SUMMARY_CHARS = 60
LONGEST_NAME = 30
"""Of an argument, in front of the bar. A longer one stands behind it, as other words that are not ours."""
_COMMANDS: dict[str, tuple[str, ...]] = {
    "confirm": ("approve {id}", 'reject {id} --note "WHY"', 'respond {id} "TEXT"', "approve {id} --edit"),
    "low_confidence": ("approve {id}", 'reject {id} --note "WHY"', 'respond {id} "TEXT"'),
    "elicitation": ("approve {id} --edit", "approve {id} --arguments JSON", 'reject {id} --note "WHY"'),
    "draft": ("done {id}", "not-done {id}"),
    "uncertain": ("resolve {id} happened", "resolve {id} again", "resolve {id} give-up"),
    "learning": ("learning approve {id}", "learning reject {id}"),
}
_WANTS = {
    "confirm": "asks before it does",
    "low_confidence": "is not sure about",
    "elicitation": "is asked something by",
    "draft": "has left a draft of",
    "uncertain": "does not know whether it happened:",
    "learning": "wants to remember",
}


def question_lines(approval: ApprovalDocument, *, typed: bool = True) -> Iterator[str]:
    """The whole question: text keeps its line breaks, and nothing is cut. A bar stands before each line of
    it, so that no text can pass for ours. `typed`: with the commands that decide it."""
    wants = f"{_WANTS[approval['kind']]} {plain(approval['operation'])}"
    yield f"{approval['expert']} {wants}{_waiting(approval)}"
    yield ""
    if approval["status"] != "pending":
        yield from (f"  {_decided(approval)}", "")
    elif typed:
        yield from (*(f"  {command}" for command in commands(approval)), "")
    yield from field_lines(approval["arguments"])
    if approval["reasoning"]:
        yield ""
        yield from behind_bar(approval["reasoning"], "  why  ")
    yield ""
    run, own = short(approval["run_id"]), short(approval["id"])
    process = f", process {approval['process']}" if approval["process"] else ""
    yield f"  {approval['kind']} {own}, run {run}{process}"
    yield f"  digest {approval['digest']}"


def commands(approval: ApprovalDocument) -> list[str]:
    """What can be typed to decide it."""
    ending = short(approval["id"])
    return [with_home(f"colleague {each.format(id=ending)}") for each in _COMMANDS[approval["kind"]]]


def field_lines(arguments: Any) -> Iterator[str]:
    """Arguments one below the other, aligned."""
    if not isinstance(arguments, dict) or not arguments:
        yield from behind_bar(_text(arguments) if arguments else "(no arguments)")
        return
    names = [plain(name) for name in arguments]
    width = max((len(name) for name in names if len(name) <= LONGEST_NAME), default=0)
    for name, value in zip(names, arguments.values(), strict=True):
        fits = len(name) <= LONGEST_NAME
        told = _text(value) if fits else f"{name}: {_text(value)}"
        yield from behind_bar(told, f"  {(name if fits else '').ljust(width)} ")


def summary(arguments: Any) -> str:
    """The arguments on one line, shortened: the first ones tell the most."""
    if not isinstance(arguments, dict):
        return _shortened(_text(arguments))
    return _shortened(", ".join(f"{name} {_on_one_line(value)}" for name, value in arguments.items()))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _on_one_line(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


def _shortened(text: str) -> str:
    one = " ".join(text.split())
    return one if len(one) <= SUMMARY_CHARS else one[: SUMMARY_CHARS - 1] + "…"


def _waiting(approval: ApprovalDocument) -> str:
    told = [f"asked {moment(approval['requested_at'])}"]
    if approval["expires_at"] and approval["status"] == "pending":
        told.append(f"expires {moment(approval['expires_at'])}")
    if approval["behind"]:
        told.append(f"{approval['behind']} behind it")
    return f" ({', '.join(told)})"


def _decided(approval: ApprovalDocument) -> str:
    what = approval["decision"] or approval["status"]
    by = f" by {approval['decided_by']}" if approval["decided_by"] else ""
    note = f": {approval['note']}" if approval["note"] else ""
    return f"{what}{by} {moment(approval['decided_at'])}{note}".replace("  ", " ")
