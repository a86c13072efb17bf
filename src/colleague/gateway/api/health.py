"""Whether it lives, whether it can work, and its numbers."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.metrics import CONTENT_TYPE, StoredGauge
from colleague.gateway.openapi import errors, with_token
from colleague.store.overview import count_unread, pending_by_kind, runs_by_status, unsent
from colleague.store.sql import func, select
from colleague.store.tables import runs
from colleague.store.tx import Tx

router = APIRouter(tags=["health"])
guarded = APIRouter(tags=["health"])


class Health(BaseModel):
    status: Literal["ok"]


class Check(BaseModel):
    ok: bool
    milliseconds: float


class ReadinessDocument(BaseModel):
    """`problems` is for callers with the token; it is empty for everybody else."""

    ready: bool
    checks: dict[str, Check]
    problems: list[str]


@router.get("/healthz", response_model=Health, responses=errors())
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get(
    "/readyz",
    response_model=ReadinessDocument,
    responses={503: {"model": ReadinessDocument, "description": "Not ready"}, **errors()},
)
async def readyz(request: Request, response: Response, gateway: GatewayDep) -> ReadinessDocument:
    """Writes to the database and reads it back; looks whether loop and worker keep going."""
    found = await gateway.readiness.check()
    checks = {name: Check(ok=each.ok, milliseconds=each.milliseconds) for name, each in found.items()}
    ready = all(check.ok for check in checks.values()) and not gateway.stopping.is_set()
    response.status_code = 200 if ready else 503
    given = request.headers.get("authorization", "").encode("latin-1")
    trusted = not gateway.live.keys.gateway or gateway.live.keys.opens(given)
    return ReadinessDocument(ready=ready, checks=checks, problems=gateway.problems if trusted else [])


@guarded.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **with_token()},
)
async def metrics(gateway: GatewayDep) -> Response:
    """Numbers for Prometheus."""
    background = gateway.services.background
    enabled = {each.key[0] for each in gateway.registry.all() if not each.problem}
    stored = [
        *await gateway.database.read(_stored),
        StoredGauge("worker_busy", gateway.services.worker.busy),
        StoredGauge("experts_enabled", len(enabled)),
        StoredGauge("task_restarts", background.restarts, "task"),
        StoredGauge("tasks_failing", len(background.failing)),
        StoredGauge("problems", len(gateway.problems)),
    ]
    return Response(gateway.metrics.page(stored), media_type=CONTENT_TYPE)


def _stored(tx: Tx) -> list[StoredGauge]:
    ended = select(runs.c.outcome, func.count()).where(runs.c.outcome.is_not(None)).group_by(runs.c.outcome)
    outcomes: list[Any] = tx.all(ended)
    return [
        StoredGauge("runs", runs_by_status(tx), "status"),
        StoredGauge("runs_ended", dict(outcomes), "outcome"),
        StoredGauge("approvals_pending", pending_by_kind(tx), "kind"),
        StoredGauge("outbox_waiting", unsent(tx)),
        StoredGauge("outbox_unread", count_unread(tx)),
    ]
