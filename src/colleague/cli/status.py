"""colleague status: how everything stands, at one glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home
    from colleague.store.accept import Event
    from colleague.store.tx import Tx

MOST_TOLD = 10
MOST_LISTED = 100
NO_HISTORY: dict[str, Any] = {"ended": [], "delivered": []}


def status(
    every: Annotated[bool, typer.Option("--all", help="Also what has ended and what was delivered.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """What is open: questions, runs, dead letters, unread deliveries; what comes next, and spend today."""
    import asyncio

    from colleague.cli.abandoned import abandoned_lines
    from colleague.cli.client import opened, with_database
    from colleague.cli.gateway_triggers import with_gateway_problems
    from colleague.cli.held_servers import servers_on_hold
    from colleague.cli.output import say, say_hint, say_json
    from colleague.cli.status_view import status_lines

    place, settings = opened(home)

    def read(tx: Tx) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        document = _document(tx, place, settings) | (_history(tx, place) if every else NO_HISTORY)
        return document, _triggers(tx, place, settings)

    document, triggers = with_database(home, lambda database: database.read(read))
    document |= _trigger_parts(asyncio.run(with_gateway_problems(place, triggers)))
    document["held_servers"] = sorted(asyncio.run(servers_on_hold(place, settings)))
    if as_json:
        say_json(document)
        return
    for line in status_lines(document):
        say(line)
    if not document["gateway"]:
        for line in abandoned_lines(home, document["open_runs"]):
            say_hint(f"Left: {line}")


def _document(tx: Tx, home: Home, settings: Settings) -> dict[str, Any]:
    from dataclasses import asdict

    from colleague.clock_file import home_clock
    from colleague.config.status import unenforced
    from colleague.store.overview import spent_today_by_expert

    return {
        "home": str(home.root),
        "clock": home_clock(home).doubt(),
        "gateway": _gateway(home),
        "unenforced": [each.key for each in unenforced(settings)],
        **_runs(tx),
        **_approvals(tx, home),
        **_deliveries(tx, home),
        **_events(tx),
        "not_accepted": _not_accepted(home),
        "spent_today": [asdict(each) for each in spent_today_by_expert(tx)],
    }


def _runs(tx: Tx) -> dict[str, Any]:
    from colleague.store.overview import count_dead_letters, dead_letters, open_runs, runs_by_status, workers
    from colleague.store.report import brief_document

    return {
        "workers": workers(tx),
        "runs": runs_by_status(tx),
        "open_runs": [brief_document(run) for run in open_runs(tx, MOST_LISTED)],
        "troubles": _troubles(tx),
        "dead_letters": [run.id for run in dead_letters(tx, limit=MOST_LISTED).items],
        "dead_letters_total": count_dead_letters(tx),
    }


def _approvals(tx: Tx, home: Home) -> dict[str, Any]:
    from colleague.experts.runs.redacted_report import approval_report
    from colleague.store.approvals import count_approvals, pending_approvals
    from colleague.store.overview import count_learnings, count_questions

    return {
        "approvals": [approval_report(tx, home, each) for each in pending_approvals(tx, MOST_LISTED)],
        "approvals_total": count_approvals(tx),
        "questions_total": count_questions(tx),
        "learnings_total": count_learnings(tx),
    }


def _deliveries(tx: Tx, home: Home) -> dict[str, Any]:
    from colleague.experts.runs.redacted_report import outbox_report
    from colleague.run_document import QUESTIONS
    from colleague.store.outbox import deliveries_page, unsent_outbox
    from colleague.store.overview import count_unread, unsent

    waits = [message for message in unsent_outbox(tx, MOST_LISTED) if message.kind not in QUESTIONS]
    unread = deliveries_page(tx, unread=True, limit=MOST_TOLD).items
    return {
        "not_delivered": [outbox_report(tx, home, message) for message in waits[:MOST_TOLD]],
        "undelivered": unsent(tx),
        "unread": [outbox_report(tx, home, message) for message in unread],
        "unread_total": count_unread(tx),
    }


def _trigger_parts(triggers: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "schedules": _schedules(triggers),
        "broken_triggers": [_broken(each) for each in triggers if each["enabled"] and each["problems"]],
    }


def _events(tx: Tx) -> dict[str, Any]:
    from dataclasses import asdict

    from colleague.clock import iso
    from colleague.store.event_report import skipped_lately, unresolved

    return {
        "skipped": [asdict(each) | {"last_at": iso(each.last_at)} for each in skipped_lately(tx)],
        "resolving": [_resolving(each) for each in unresolved(tx)],
    }


def _troubles(tx: Tx) -> list[dict[str, Any]]:
    """Runs that do not go on at the moment: why, and when they are tried again."""
    from colleague.store.report import trouble_document
    from colleague.store.run import get_run
    from colleague.store.trouble import runs_in_trouble

    found = [get_run(tx, run_id) for run_id in runs_in_trouble(tx)]
    return [{"run": run.id, "expert": run.expert, **(trouble_document(run) or {})} for run in found]


def _history(tx: Tx, home: Home) -> dict[str, Any]:
    """What has ended and what was delivered, the newest first."""
    from colleague.experts.runs.redacted_report import outbox_report
    from colleague.run_document import QUESTIONS
    from colleague.store.outbox import recent_outbox
    from colleague.store.report import brief_document
    from colleague.store.run_filter import RunFilter

    told = [each for each in recent_outbox(tx, 50) if each.kind not in QUESTIONS and each.status == "sent"]
    ended = RunFilter(("done",)).page(tx, limit=MOST_TOLD).items
    return {
        "ended": [brief_document(run) for run in ended],
        "delivered": [outbox_report(tx, home, message) for message in told[:MOST_TOLD]],
    }


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

    from colleague.plugins.report import plugin_channels
    from colleague.triggers.agent_schedules import agent_documents
    from colleague.triggers.problems import problem_finder
    from colleague.triggers.registry import TriggerRegistry
    from colleague.triggers.trigger_list import trigger_documents

    find = problem_finder(settings, os.environ, plugin_channels(home, settings))
    triggers = trigger_documents(tx, TriggerRegistry(home), find)
    return [*triggers, *agent_documents(tx, settings)]


def _broken(trigger: dict[str, Any]) -> dict[str, Any]:
    return {key: trigger[key] for key in ("expert", "trigger", "problems")}


def _resolving(event: Event) -> dict[str, Any]:
    return {"id": event.id, "expert": event.expert, "trigger": event.trigger_name, "reason": event.reason}


def _schedules(triggers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The next times, the soonest first."""
    coming = [each for each in triggers if each["next_at"]]
    keys = ("expert", "trigger", "next_at", "last_at")
    return [{key: each[key] for key in keys} for each in sorted(coming, key=lambda each: each["next_at"])]
