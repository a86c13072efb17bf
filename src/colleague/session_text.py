"""What a session does and what is set for it, in words: the same at a terminal and on the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from colleague.run_document import short
from colleague.session_document import Queued, SessionDocument, StoppedDocument

WHAT_BECAME: Mapping[Queued, str] = {
    "steered": "The turn at work reads it before its next step, or it gets a turn of its own afterwards.",
    "collected": "It waits, and is answered together with what else comes meanwhile.",
    "queued": "It waits, and gets a turn of its own when what came before it is answered.",
    "interrupted": "The turn at work was ended, and the message begins a new one.",
    "reset": "A new conversation begins; the one before is archived.",
}
"""What becomes of a message that does not simply start a turn."""
NOT_WHOLE = "It was stopped here, and is not whole."
_SET = {
    "label": "label",
    "thinking": "thinking_level",
    "reasoning": "reasoning_level",
    "verbose": "verbose_level",
    "send policy": "send_policy",
    "queue mode": "queue_mode",
}


def status_text(session: SessionDocument) -> str:
    """What it does, how many messages wait, and how many questions."""
    told: list[str] = [session["status"]]
    if session["waiting"]:
        told.append(f"{session['waiting']} waiting")
    if session["parked"]:
        told.append(f"{session['parked']} to decide")
    return ", ".join(told)


def usage_lines(session: SessionDocument, moment: Callable[[str | None], str]) -> list[str]:
    """What is known of its size. `moment` writes a time."""
    return [
        f"  {session['positions']} items since {moment(session['created_at'])}",
        f"  {session['input_tokens']} tokens in, {session['output_tokens']} out since "
        f"{moment(session['started_at'])}",
        f"  compactions: {session['compaction_count']}",
    ]


def model_text(session: SessionDocument) -> str:
    """The model that is set for it; empty when it is the default."""
    return "/".join(filter(None, (session["provider_override"], session["model_override"])))


def set_lines(session: SessionDocument) -> list[str]:
    """Its key, and what a person has set."""
    entry: Mapping[str, Any] = session
    values = {name: entry[field] for name, field in _SET.items()} | {"model": model_text(session)}
    chosen = [f"  {name} {value}" for name, value in sorted(values.items()) if value]
    return [session["key"], *(chosen or ["  nothing is set; the settings hold"])]


def shown_context(session: SessionDocument) -> list[str]:
    """What the model was last shown, and how much of it."""
    shown = session["context"]
    if shown is None:
        return ["The model has seen nothing of this conversation yet."]
    window = f"it can read {shown['window']:,}" if shown["window"] else "how many it can read is not known"
    lines = [f"{shown['model']} was last shown about {shown['total']:,} tokens; {window}."]
    parts = {
        "instructions": shown["system"],
        "tools": shown["tools"],
        "summary": shown["summary"],
        f"messages ({shown['message_count']})": shown["messages"],
        "kept for the answer": shown["room_for_answer"],
    }
    lines += [f"  {name:<22}{tokens:>10,}" for name, tokens in parts.items() if tokens]
    if shown["compacts_at"]:
        lines.append(f"  it is shortened at    {shown['compacts_at']:>10,}")
    return lines


def stopped_text(stopped: StoppedDocument) -> str:
    count = stopped["dropped"]
    waited = f"{count} {'message that waited is' if count == 1 else 'messages that waited are'} not run"
    turn = f"stopped run {short(stopped['run_id'])}" if stopped["run_id"] else ""
    tasks = stopped["children"]
    children = f"{tasks} {'task' if tasks == 1 else 'tasks'} that it handed over ended, too" if tasks else ""
    return "; ".join(filter(None, (turn, waited if count else "", children))) or "Nothing is at work."
