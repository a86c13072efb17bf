"""Whether it lives, whether it can work, and its numbers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from sqlalchemy import func, select

from colleague.gateway.documents import Check, Health, Readiness
from colleague.gateway.gateway import Gateway, Here
from colleague.gateway.metrics import Labels, labelled
from colleague.gateway.openapi import errors, with_token
from colleague.store.ids import new_id
from colleague.store.overview import pending_by_kind, runs_by_status, unsent
from colleague.store.tables import dedupe, runs
from colleague.store.tx import Tx

router = APIRouter(tags=["health"])
guarded = APIRouter(tags=["health"])

PATIENCE = 3.0
OLDEST_PULSE = 15.0
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/healthz", response_model=Health, responses=errors())
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "Not ready"}, **errors()},
)
async def readyz(request: Request, response: Response, here: Here) -> Readiness:
    """Writes to the database and reads it back; looks whether loop and worker keep going."""
    database, loop, worker = await asyncio.gather(
        _timed(lambda: here.database.write(_write_and_read)), _timed(_turn), _timed(lambda: _worker(here))
    )
    checks = {"database": database, "loop": loop, "worker": worker}
    ready = all(check.ok for check in checks.values()) and not here.stopping.is_set()
    response.status_code = 200 if ready else 503
    given = request.headers.get("authorization", "").encode("latin-1")
    trusted = not here.live.keys.gateway or here.live.keys.opens(given)
    return Readiness(ready=ready, checks=checks, problems=here.problems if trusted else [])


async def _timed(work: Callable[[], Awaitable[bool]]) -> Check:
    began = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE):
            fine = await work()
    except Exception:  # noqa: BLE001 - whatever it was, it is not ready
        fine = False
    return Check(ok=fine, milliseconds=round((time.monotonic() - began) * 1000, 1))


def _write_and_read(tx: Tx) -> bool:
    """A row that is there and gone again within one commit."""
    key = {"expert": "", "trigger_name": "readyz", "dedupe_key": new_id()}
    tx.insert(dedupe, **key, event_id="", expires_at=tx.now)
    same = dedupe.c.dedupe_key == key["dedupe_key"]
    found = tx.one(select(dedupe.c.event_id).where(same))
    tx.execute(dedupe.delete().where(same))
    return found is not None


async def _turn() -> bool:
    await asyncio.sleep(0)
    return True


async def _worker(here: Gateway) -> bool:
    return here.workshop.pulse.age < OLDEST_PULSE


@guarded.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **with_token()},
)
async def metrics(here: Here) -> Response:
    """Numbers for Prometheus."""
    stored: dict[str, Mapping[Labels, float]] = {**await here.database.read(_stored)}
    stored["worker_busy"] = {(): float(here.workshop.worker.busy)}
    stored["experts_enabled"] = {
        (): float(len({each.key[0] for each in here.wiring.all() if not each.problem}))
    }
    stored["problems"] = {(): float(len(here.problems))}
    return Response(here.metrics.lines(stored), media_type=PROMETHEUS)


def _stored(tx: Tx) -> dict[str, Mapping[Labels, float]]:
    ended = select(runs.c.outcome, func.count()).where(runs.c.outcome.is_not(None)).group_by(runs.c.outcome)
    outcomes: list[Any] = tx.all(ended)
    return {
        "runs": labelled("status", runs_by_status(tx)),
        "runs_ended": labelled("outcome", {str(word): int(count) for word, count in outcomes}),
        "approvals_pending": labelled("kind", pending_by_kind(tx)),
        "outbox_waiting": {(): float(unsent(tx))},
    }
