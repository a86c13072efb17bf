"""How a home stands, as lines for people: what needs them comes first, and it fits on a screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from colleague.cli.approval_view import summary
from colleague.cli.output import dim, plain, status_coloured
from colleague.cli.times import moment
from colleague.cli.trouble_text import list_word, trouble_line
from colleague.cli.typed import with_home
from colleague.main_names import MAIN_CHANNEL
from colleague.run_document import RunBrief, short

ORDER = ("queued", "running", "waiting", "retrying")
MOST = 5
MOST_TEXT = 100
NOTHING_OPEN = "Nothing is open: no question, no run, nothing unread."


def status_lines(document: dict[str, Any]) -> list[str]:
    """What is open, what comes next; and what has ended, where the document has it."""
    opened = [
        *_questions(document),
        *_runs(document),
        *_people(document),
        *_events(document),
        *_dead_letters(document),
        *_not_delivered(document),
        *_unread(document),
    ]
    return [
        *_head(document),
        *(opened or [NOTHING_OPEN]),
        *_coming(document),
        *_spent(document),
        *_history(document),
    ]


def _head(document: dict[str, Any]) -> Iterator[str]:
    yield f"Home: {document['home']}"
    gateway = document["gateway"]
    yield (
        f"Gateway: {gateway['url']}, pid {gateway['pid']}"
        if gateway
        else with_home("Gateway: not running (colleague serve)")
    )
    if document["clock"]:
        yield f"Clock: {document['clock']}"
    if keys := document["unenforced"]:
        shown = ", ".join(keys[:MOST]) + (f" and {len(keys) - MOST} more" if len(keys) > MOST else "")
        what = f"Settings: no run begins; nothing enforces {shown}"
        yield f"{what}{_hint('colleague config check')}"


def _questions(document: dict[str, Any]) -> Iterator[str]:
    """What waits for a person, drafts too; learnings have a list of their own."""
    total = document["questions_total"]
    if total:
        yield f"Waiting for you: {total}{_hint('colleague approve')}"
        shown = [each for each in document["approvals"] if each["kind"] != "learning"][:MOST]
        yield from map(_question, shown)
        yield from _more(total - len(shown), "colleague approval list")
    if document["learnings_total"]:
        yield f"Learnings: {document['learnings_total']}{_hint('colleague learning list')}"


def _question(approval: dict[str, Any]) -> str:
    what = plain(f"{approval['operation']} {summary(approval['arguments'])}")
    behind = f", {approval['behind']} behind it" if approval["behind"] else ""
    asked = dim(f"asked {moment(approval['requested_at'])}")
    return f"  {approval['kind']} {dim(short(approval['id']))} {approval['expert']}: {what}{behind}, {asked}"


def _runs(document: dict[str, Any]) -> Iterator[str]:
    runs = document["runs"]
    counts = [f"{runs[word]} {status_coloured(word)}" for word in ORDER if runs.get(word)]
    if not counts:
        return
    yield f"Runs: {', '.join(counts)}{_hint('colleague run list')}"
    troubled = {each["run"] for each in document["troubles"]}
    for each in document["troubles"][:MOST]:
        yield f"  run {dim(short(each['run']))} ({each['expert']}): {trouble_line(each)}"
    moving = [each for each in document["open_runs"] if each["status"] != "waiting"]
    for each in [each for each in moving if each["id"] not in troubled][: MOST - 2]:
        yield _run(each, "created_at")
    if len(document["workers"]) > 1:
        yield from (f"  worker {each['worker']}: {each['runs']} runs" for each in document["workers"])


def _run(run: RunBrief, time: Literal["created_at", "ended_at"]) -> str:
    what = "/".join(filter(None, (run["expert"], run["process"])))
    return f"  run {dim(short(run['id']))} {what}: {status_coloured(list_word(run))} {dim(moment(run[time]))}"


def _people(document: dict[str, Any]) -> Iterator[str]:
    """What waits for a yes beside the questions."""
    for name in document["held_servers"]:
        yield f"MCP server {name} waits for a yes and is not started{_hint(f'colleague mcp accept {name}')}"
    for each in document["not_accepted"]:
        yield f"Not accepted: {each['expert']}: {each['problem']}{_hint(each['accept'])}"


def _events(document: dict[str, Any]) -> Iterator[str]:
    """What cannot come in, could not be looked up, or was skipped in the last day."""
    for each in document["broken_triggers"]:
        for problem in each["problems"]:
            where = f"{each['expert']}/{each['trigger']}"
            yield f"Cannot work: {where}: {problem['message']}{_hint(problem['cure'])}"
    for each in document["resolving"][:MOST]:
        yield f"Not looked up yet: event {each['id'][-8:]} of {each['expert']}: {each['reason']}"
    yield from map(skipped_line, document["skipped"][:MOST])


def skipped_line(skipped: dict[str, Any]) -> str:
    """Events of one trigger that became no runs: how many, and why."""
    count = f"{skipped['count']} events" if skipped["count"] > 1 else "1 event"
    return f"Skipped lately: {count} of {skipped['expert']}/{skipped['trigger']}: {skipped['reason']}"


def _dead_letters(document: dict[str, Any]) -> Iterator[str]:
    if document["dead_letters_total"]:
        yield f"Dead letters: {document['dead_letters_total']}{_hint('colleague deadletter list')}"


def _not_delivered(document: dict[str, Any]) -> Iterator[str]:
    if document["undelivered"]:
        yield f"Not delivered yet: {document['undelivered']}"
        yield from (f"  {_message(each)}" for each in document["not_delivered"][:MOST])


def _unread(document: dict[str, Any]) -> Iterator[str]:
    total, shown = document["unread_total"], document["unread"][:MOST]
    if total:
        yield f"Unread: {total}{_hint('colleague delivery read ID, or --all')}"
        yield from (f"  {dim(short(each['id']))} {_message(each)}" for each in shown)
        yield from _more(total - len(shown), "colleague delivery list")


def _coming(document: dict[str, Any]) -> Iterator[str]:
    for each in document["schedules"][:3]:
        yield f"Next: {dim(moment(each['next_at']))} {each['expert']}/{each['trigger']}"


def _spent(document: dict[str, Any]) -> Iterator[str]:
    for each in document["spent_today"]:
        yield f"Spent today: {each['expert']} {each['tokens']:,} tokens, {each['cost']:.2f} dollars"


def _history(document: dict[str, Any]) -> Iterator[str]:
    if document["ended"]:
        yield "Ended:"
        yield from (_run(each, "ended_at") for each in document["ended"])
    yield from map(_message, document["delivered"])


def _message(message: dict[str, Any]) -> str:
    body = message["body"]
    text = " ".join(str(body.get("narrative") or body.get("reason") or body.get("title") or "").split())
    told = text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"
    where = "" if message["channel"] == MAIN_CHANNEL else f" to {message['channel']}"
    head = f"{message['kind'].capitalize()} of run {short(message['run_id'])} ({body.get('expert', '')})"
    return f"{head}, {message['status']}{where}: {told}"


def _hint(command: str) -> str:
    return f" ({with_home(command)})"


def _more(rest: int, command: str) -> list[str]:
    return [f"  and {rest} more{_hint(command)}"] if rest > 0 else []
