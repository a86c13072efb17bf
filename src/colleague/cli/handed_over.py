"""What came of work that a turn handed over, for whoever waits for the turn at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colleague.cli.approval_view import question_lines
from colleague.cli.output import note, note_as_is, say
from colleague.run_document import RunDocument, short
from colleague.session_document import is_stopped
from colleague.session_text import NOT_WHOLE

if TYPE_CHECKING:
    from colleague.cli.client import Client

WAITS = 4


async def say_handed_over(using: Client, turn: RunDocument) -> int:
    """The answers of later turns, where this process worked on them, and what holds a child: the exit
    code."""
    if using.works and turn["child_runs"]:
        items = await using.service.items(turn["session_key"], limit=1000)
        later = [
            each for each in items if each["role"] == "assistant" and (each["run_id"] or "") > turn["id"]
        ]
        for item in (each for each in later if each["text"]):
            say(item["text"])
            if is_stopped(item):
                note(NOT_WHOLE)
    code = 0
    for run_id in turn["child_runs"]:
        child = await using.runs.run(run_id)
        for approval_id in child["waiting_on"]:
            note(f"run {short(run_id)} of {child['expert']}, which it handed work to, waits for you:")
            for line in question_lines(await using.runs.approval(approval_id)):
                note_as_is(line)
            code = WAITS
    return code
