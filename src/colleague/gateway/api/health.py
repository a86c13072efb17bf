"""Whether it lives, whether it can work, and its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from sqlalchemy import func, select

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.metrics import Labels, labelled
from colleague.gateway.openapi import errors, with_token
from colleague.gateway.schemas import Check, Health, Readiness
from colleague.store.overview import pending_by_kind, runs_by_status, unsent
from colleague.store.tables import runs
from colleague.store.tx import Tx

router = APIRouter(tags=["health"])
guarded = APIRouter(tags=["health"])

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
async def readyz(request: Request, response: Response, here: GatewayDep) -> Readiness:
    """Writes to the database and reads it back; looks whether loop and worker keep going."""
    found = await here.readiness.check()
    checks = {name: Check(ok=each.ok, milliseconds=each.milliseconds) for name, each in found.items()}
    ready = all(check.ok for check in checks.values()) and not here.stopping.is_set()
    response.status_code = 200 if ready else 503
    given = request.headers.get("authorization", "").encode("latin-1")
    trusted = not here.live.keys.gateway or here.live.keys.opens(given)
    return Readiness(ready=ready, checks=checks, problems=here.problems if trusted else [])


@guarded.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **with_token()},
)
async def metrics(here: GatewayDep) -> Response:
    """Numbers for Prometheus."""
    stored: dict[str, Mapping[Labels, float]] = {**await here.database.read(_stored)}
    stored["worker_busy"] = {(): float(here.services.worker.busy)}
    stored["experts_enabled"] = {
        (): float(len({each.key[0] for each in here.registry.all() if not each.problem}))
    }
    background = here.services.background
    stored["task_restarts"] = labelled("task", background.restarts)
    stored["tasks_failing"] = {(): float(len(background.failing))}
    stored["problems"] = {(): float(len(here.problems))}
    return Response(here.metrics.lines(stored), media_type=PROMETHEUS)


def _stored(tx: Tx) -> dict[str, Mapping[Labels, float]]:
    ended = select(runs.c.outcome, func.count()).where(runs.c.outcome.is_not(None)).group_by(runs.c.outcome)
    outcomes: list[Any] = tx.all(ended)
    return {
        "runs": labelled("status", runs_by_status(tx)),
        "runs_ended": labelled("outcome", {str(sql_literal): int(count) for sql_literal, count in outcomes}),
        "approvals_pending": labelled("kind", pending_by_kind(tx)),
        "outbox_waiting": {(): float(unsent(tx))},
    }
