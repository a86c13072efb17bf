"""colleague status: how everything stands, at one glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home
    from colleague.store.accept import Event
    from colleague.store.tx import Tx

ORDER = ("queued", "running", "waiting", "retrying")
MOST_TOLD = 10
MOST_LISTED = 100


def status(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Gateway, queue, waiting approvals, next schedules, dead letters, deliveries, spend today."""
    import asyncio

    from colleague.cli.abandoned import abandoned_lines
    from colleague.cli.client import opened, with_database
    from colleague.cli.held_servers import servers_on_hold
    from colleague.cli.output import say, say_json

    place, settings = opened(home)
    document = with_database(home, lambda database: database.read(lambda tx: _document(tx, place, settings)))
    document["held_servers"] = sorted(asyncio.run(servers_on_hold(place, settings)))
    if as_json:
        say_json(document)
        return
    for line in _lines(document):
        say(line)
    if not document["gateway"]:
        open_runs = with_database(home, lambda database: database.read(_open_runs))
        for line in abandoned_lines(home, open_runs):
            say(f"Left: {line}")


def _document(tx: Tx, home: Home, settings: Settings) -> dict[str, Any]:
    from dataclasses import asdict

    from colleague.clock import iso
    from colleague.clock_file import home_clock
    from colleague.experts.runs.report import approval_report, outbox_report
    from colleague.run_document import QUESTIONS
    from colleague.store.approvals import count_approvals, pending_approvals
    from colleague.store.event_report import skipped_lately, unresolved
    from colleague.store.outbox import UNREAD, count_unread, deliveries_page, recent_outbox
    from colleague.store.overview import (
        count_dead_letters,
        dead_letters,
        runs_by_status,
        spent_today_by_expert,
        unsent,
        workers,
    )

    told = [message for message in recent_outbox(tx, 50) if message.kind not in QUESTIONS][:MOST_TOLD]
    sent = [message for message in told if message.status == "sent"]
    open_ = [message for message in told if message.status not in ("sent", UNREAD)]
    unread = deliveries_page(tx, unread=True, limit=MOST_TOLD).items
    triggers = _triggers(tx, home, settings)
    return {
        "home": str(home.root),
        "clock": home_clock(home).doubt(),
        "gateway": _gateway(home),
        "workers": workers(tx),
        "runs": runs_by_status(tx),
        "troubles": _troubles(tx),
        "approvals": [approval_report(tx, home, each) for each in pending_approvals(tx, MOST_LISTED)],
        "approvals_total": count_approvals(tx),
        "dead_letters": [run.id for run in dead_letters(tx, limit=MOST_LISTED).items],
        "dead_letters_total": count_dead_letters(tx),
        "delivered": [outbox_report(tx, home, message) for message in sent],
        "not_delivered": [outbox_report(tx, home, message) for message in open_],
        "undelivered": unsent(tx),
        "unread": [outbox_report(tx, home, message) for message in unread],
        "unread_total": count_unread(tx),
        "schedules": _schedules(triggers),
        "broken_triggers": [_broken(each) for each in triggers if each["enabled"] and each["problems"]],
        "skipped": [asdict(each) | {"last_at": iso(each.last_at)} for each in skipped_lately(tx)],
        "resolving": [_resolving(each) for each in unresolved(tx)],
        "not_accepted": _not_accepted(home),
        "spent_today": [asdict(each) for each in spent_today_by_expert(tx)],
    }


def _troubles(tx: Tx) -> list[dict[str, Any]]:
    """Runs that do not go on at the moment: why, and when they are tried again."""
    from colleague.store.report import trouble_document
    from colleague.store.run import get_run
    from colleague.store.trouble import runs_in_trouble

    found = [get_run(tx, run_id) for run_id in runs_in_trouble(tx)]
    return [{"run": run.id, "expert": run.expert, **(trouble_document(run) or {})} for run in found]


def _open_runs(tx: Tx) -> list[dict[str, Any]]:
    from sqlalchemy import select

    from colleague.store.tables import is_open, runs

    query = select(runs.c.id, runs.c.status).where(is_open()).limit(MOST_LISTED)
    return [{"id": row.id, "status": row.status} for row in tx.all(query)]


def _gateway(home: Home) -> dict[str, Any] | None:
    """Where the gateway listens; None when none holds the home. The lock is the truth, the file a hint."""
    from colleague.errors import HomeBusy
    from colleague.runtime.gateway_file import read_gateway_file

    running = read_gateway_file(home)
    if running is None:
        return None
    try:
        with home.working(wait_seconds=0):
            return None
    except HomeBusy:
        return {"pid": running.pid, "url": running.url, "started_at": running.started_at}


def _not_accepted(home: Home) -> list[dict[str, str]]:
    """Experts whose package was loosened since a person accepted it."""
    from colleague.cli.expert_notice import notice
    from colleague.experts.expert import discover

    found = [(expert.name, *notice(expert)) for expert in discover(home)]
    return [{"expert": name, "problem": said, "accept": command} for name, said, command in found if said]


def _triggers(tx: Tx, home: Home, settings: Settings) -> list[dict[str, Any]]:
    import os

    from colleague.triggers.problems import problem_finder
    from colleague.triggers.registry import TriggerRegistry
    from colleague.triggers.trigger_list import trigger_documents

    return trigger_documents(tx, TriggerRegistry(home), problem_finder(settings, os.environ))


def _broken(trigger: dict[str, Any]) -> dict[str, Any]:
    return {key: trigger[key] for key in ("expert", "trigger", "problems")}


def _resolving(event: Event) -> dict[str, Any]:
    return {"id": event.id, "expert": event.expert, "trigger": event.trigger_name, "reason": event.reason}


def _schedules(triggers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The next times, the soonest first."""
    coming = [each for each in triggers if each["next_at"]]
    keys = ("expert", "trigger", "next_at", "last_at")
    return [{key: each[key] for key in keys} for each in sorted(coming, key=lambda each: each["next_at"])]


def _lines(document: dict[str, Any]) -> list[str]:
    from colleague.cli.trouble_text import trouble_line
    from colleague.run_document import short

    runs = document["runs"]
    counts = ", ".join(f"{runs[word]} {word}" for word in ORDER if runs.get(word))
    gateway = document["gateway"]
    listens = f"{gateway['url']}, pid {gateway['pid']}" if gateway else "not running (colleague serve)"
    lines = [f"Home: {document['home']}", f"Gateway: {listens}", f"Runs: {counts or 'nothing is under way'}"]
    for each in document["troubles"]:
        lines.append(f"  run {short(each['run'])} ({each['expert']}): {trouble_line(each)}")
    lines += [f"Clock: {document['clock']}"] if document["clock"] else []
    lines += [f"Worker {each['worker']}: {each['runs']} runs" for each in document["workers"]]
    lines += [
        f"Next: {each['next_at']} {each['expert']}/{each['trigger']}" for each in document["schedules"][:5]
    ]
    lines += _waiting(document["approvals"], document["approvals_total"])
    for name in document["held_servers"]:
        lines.append(f"MCP server {name} waits for a yes and is not started (colleague mcp accept {name})")
    for each in document["not_accepted"]:
        lines.append(f"Not accepted: {each['expert']}: {each['problem']} ({each['accept']})")
    lines += _event_lines(document)
    if document["dead_letters_total"]:
        lines.append(f"Dead letters: {document['dead_letters_total']} (colleague deadletter list)")
    if document["undelivered"]:
        lines.append(f"Not delivered yet: {document['undelivered']}")
    lines += [_message_line(each) for each in document["not_delivered"]]
    lines += _unread_lines(document["unread"], document["unread_total"])
    lines += [_message_line(each) for each in document["delivered"]]
    for spent in document["spent_today"]:
        lines.append(
            f"Spent today: {spent['expert']} {spent['tokens']:,} tokens, {spent['cost']:.2f} dollars"
        )
    return lines


def _event_lines(document: dict[str, Any]) -> list[str]:
    """What cannot come in, could not be looked up, or was skipped in the last day."""
    lines = [
        f"Cannot work: {each['expert']}/{each['trigger']}: {problem['message']} ({problem['cure']})"
        for each in document["broken_triggers"]
        for problem in each["problems"]
    ]
    for each in document["resolving"]:
        lines.append(f"Not looked up yet: event {each['id'][-8:]} of {each['expert']}: {each['reason']}")
    for each in document["skipped"]:
        count = f"{each['count']} events" if each["count"] > 1 else "1 event"
        lines.append(f"Skipped lately: {count} of {each['expert']}/{each['trigger']}: {each['reason']}")
    return lines


def _waiting(approvals: list[dict[str, Any]], total: int) -> list[str]:
    from colleague.run_document import short

    if not approvals:
        return ["Waiting for you: nothing"]
    lines = [f"Waiting for you: {total}"]
    for each in approvals:
        behind = f", {each['behind']} behind it" if each["behind"] else ""
        lines.append(f"  {each['kind']} {short(each['id'])} {each['expert']}: {each['operation']}{behind}")
    if total > len(approvals):
        lines.append(f"  and {total - len(approvals)} more (colleague approval list)")
    return lines


def _unread_lines(unread: list[dict[str, Any]], total: int) -> list[str]:
    if not total:
        return []
    lines = [f"Unread: {total} (colleague delivery read ID, or --all)"]
    lines += [f"  {each['id'][-8:]} {_message_line(each)}" for each in unread]
    return [
        *lines,
        *([f"  and {total - len(unread)} more (colleague delivery list)"] * (total > len(unread))),
    ]


def _message_line(message: dict[str, Any]) -> str:
    from colleague.run_document import short

    body = message["body"]
    text = body.get("narrative") or body.get("reason") or body.get("title") or ""
    where = "" if message["channel"] == "main" else f" to {message['channel']}"
    head = f"{message['kind'].capitalize()} of run {short(message['run_id'])} ({body.get('expert', '')})"
    return f"{head}, {message['status']}{where}: {' '.join(str(text).split())[:300]}"
