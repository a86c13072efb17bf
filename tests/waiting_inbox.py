"""An inbox with something of every kind, written by the store itself."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from colleague.clock import SystemClock
from colleague.config import load_settings
from colleague.home import Home
from colleague.store.accept import Arrival, accept
from colleague.store.approvals import Ask, raise_asks, wait
from colleague.store.claims import take
from colleague.store.ids import new_id
from colleague.store.open_database import open_database
from colleague.store.outbox import UNREAD, put_in_outbox
from colleague.store.run import get_run
from colleague.store.tables import calls, outbox, runs
from colleague.store.tx import Tx

EXPERT = "clerk"
SCHEMA = {
    "type": "object",
    "properties": {
        "deal_id": {"type": "string"},
        "stage": {"type": "string", "enum": ["lead", "proposal", "won"]},
        "amount": {"type": "number", "minimum": 1},
        "close_date": {"type": "string", "format": "date"},
        "reason": {"type": "string"},
    },
    "required": ["deal_id", "stage"],
}
STAGE = {
    "deal_id": "d-acme",
    "stage": "proposal",
    "amount": 45000,
    "currency": "USD",
    "close_date": "2026-11-30",
    "reason": "The buyer asked for a price",
}
MAIL = {
    "to": "sarah.chen@acme.example",
    "subject": "Your question about pricing",
    "body": "Hello Sarah,\n\nthe plan for 40 seats is 45,000 USD a year.\n\nTom",
}
LEARNING = {
    "id": "l-1",
    "scope": "package",
    "title": "Acme wants yearly prices",
    "date": "2026-11-17",
    "source": "run 1",
    "observation": "Sarah asked for the price of a year.",
    "correction": "Quote Acme by the year.",
    "confidence": "high",
    "expert": EXPERT,
    "most": 50,
}
FORM = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 2}},
    "required": ["city"],
}
WHY = "Sarah asked for a price, so the deal has moved on."


def asks(text: str = "") -> list[Ask]:
    """One question of each kind; `text` is put into every field that comes from outside."""

    def with_text(document: dict[str, Any], keep: tuple[str, ...] = ()) -> str:
        marked = {
            name: f"{value} {text}" if text and isinstance(value, str) and name not in keep else value
            for name, value in document.items()
        }
        return json.dumps(marked)

    why, name = f"{WHY} {text}".strip(), f"crm.move_stage{text}"
    schema = json.dumps(SCHEMA)
    learning = with_text(LEARNING, ("id", "expert", "scope", "date", "confidence"))
    return [
        Ask(None, "confirm", name, with_text(STAGE), "d1", why, expires_ms=1_800_000, parameters=schema),
        Ask(None, "low_confidence", name, with_text(STAGE), "d2", why, parameters=schema),
        Ask(None, "elicitation", name, "{}", "d3", why, parameters=json.dumps(FORM)),
        Ask(None, "draft", f"email.send{text}", with_text(MAIL), "d4", why),
        Ask(None, "learning", "learning", learning, "d5", why),
    ]


def fill_inbox(home: Home, *, text: str = "", count: int = 1) -> None:
    """`count` times one question of each kind, an uncertain effect, a dead letter, an escalation, and
    something to read. In a thread of its own: a browser's loop may run in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(_fill_all(home, text, count))).result()


async def _fill_all(home: Home, text: str, count: int) -> None:
    database = open_database(home, load_settings(home), {}, SystemClock())
    try:
        for _ in range(count):
            await database.write(lambda tx: _fill(tx, text))
    finally:
        await database.close()


def _fill(tx: Tx, text: str) -> None:
    for ask in asks(text):
        _waiting(tx, text, [ask])
    _uncertain(tx, text)
    failed = _waiting(tx, text, [])
    tx.update(
        runs,
        {"id": failed},
        status="done",
        outcome="dead_letter",
        error=f"the CRM is down {text}",
        ended_at=tx.now,
    )
    escalation = {
        "expert": EXPERT,
        "process": "work",
        "reason": f"nobody answered {text}",
        "context": {"a": text},
    }
    _tell(tx, failed, "escalation", escalation)
    _tell(tx, failed, "delivery", {"expert": EXPERT, "process": "work", "narrative": f"All is done. {text}"})


def _waiting(tx: Tx, text: str, questions: list[Ask]) -> str:
    inputs = json.dumps({"message_id": f"m-1 {text}".strip()})
    arrival = Arrival(EXPERT, "order", "hook", "{}", f"agent:main:expert:{new_id()}", None, "work", inputs)
    accepted = accept(tx, arrival)
    taken = take(tx, "filler", 0)
    assert taken is not None
    wait(tx, taken.hold, questions or [Ask(None, "draft", "none.none", "{}", "x")])
    return str(accepted.run_id)


def _uncertain(tx: Tx, text: str) -> None:
    run, call = _waiting(tx, text, []), new_id()
    about = {"operation": f"crm.charge{text}", "server": f"crm{text}", "tool": "charge", "tier": "auto"}
    state = {"status": "unknown", "sends": 1, "started_at": tx.now, "note": f"the line was cut {text}"}
    place = {"position": 1, "place": 0, "tool_call_id": "t1", "session": "main"}
    arguments = {"amount": 1250.5, "currency": "EUR"}
    values = {"arguments": json.dumps(arguments), "digest": "d6", "repeatable": 0, "is_error": 0}
    tx.insert(calls, id=call, run_id=run, **about, **state, **place, **values)
    question = Ask(
        call, "uncertain", f"crm.charge{text}", json.dumps(arguments), "d6", "no answer came", send=1
    )
    raise_asks(tx, get_run(tx, run), [question])


def _tell(tx: Tx, run: str, kind: str, body: dict[str, Any]) -> None:
    put_in_outbox(tx, run, kind, new_id(), "main", json.dumps(body))
    tx.update(outbox, {"run_id": run, "kind": kind}, status=UNREAD, sent_at=tx.now)
