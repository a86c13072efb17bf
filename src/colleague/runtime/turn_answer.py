"""Waiting for what a turn answers to a message."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from colleague.experts.runs.redacted_report import approval_report
from colleague.home import Home
from colleague.runtime.requests import SentMessage, TurnAnswer
from colleague.runtime.session_news import session_news
from colleague.store.approvals import Approval, approvals_of, parked_in
from colleague.store.event_report import get_event
from colleague.store.journal import read_calls
from colleague.store.run import Run, get_run
from colleague.store.session_items import items_of_run
from colleague.store.tx import Database, Tx

LONGEST_SILENCE = 15.0
"""Seconds after which the store is read although nobody told of news."""


async def wait_for_turn(
    database: Database, home: Home, sent: SentMessage, seconds: float
) -> TurnAnswer | None:
    """The end of the turn that decided on a message, or the person it needs; None when that takes longer.

    Nothing is locked meanwhile, and the store is read only when there may be news."""
    with session_news(database, sent.session_key) as news:
        try:
            async with asyncio.timeout(seconds):
                while True:
                    found = await database.read(lambda tx: turn_answer(tx, home, sent.event_id))
                    if found is not None:
                        return found
                    await news.wait(LONGEST_SILENCE)
        except TimeoutError:
            return None


def turn_answer(tx: Tx, home: Home, event_id: str) -> TurnAnswer | None:
    """None while nobody can say how the turn of this message comes out."""
    event = get_event(tx, event_id)
    if event.run_id is None:
        skipped = event.outcome == "skipped"
        return TurnAnswer(None, "skipped", error=event.reason) if skipped else None
    run = get_run(tx, event.run_id)
    if run.status not in ("done", "waiting"):
        return None
    asked = [each for each in approvals_of(tx, run.id) if each.status == "pending"] + _asked_before(tx, run)
    waits_for_child = run.status == "waiting" and not asked
    return None if waits_for_child else _answer(tx, home, run, asked)


def _asked_before(tx: Tx, run: Run) -> list[Approval]:
    """Questions of earlier turns for which calls of this one wait, too."""
    wanted = {call.digest for call in read_calls(tx, run.id) if call.status == "parked"}
    parked = parked_in(tx, run.session_key) if wanted else []
    return [each for each in parked if each.digest in wanted and each.run_id != run.id]


def _answer(tx: Tx, home: Home, run: Run, asked: Sequence[Approval]) -> TurnAnswer:
    items = [each for each in items_of_run(tx, run.id) if each.role == "assistant" and not each.is_stopped]
    said = [each.text for each in items if each.text]
    return TurnAnswer(
        run.id,
        run.status,
        run.outcome,
        said[-1] if said else "",
        tuple(approval_report(tx, home, each) for each in asked),
        run.error,
    )
