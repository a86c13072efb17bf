"""How everything stands, at one glance."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from colleague.experts.runs.redacted_report import approval_report
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import TriggerDocument
from colleague.run_document import ApprovalDocument
from colleague.store.approvals import count_approvals, pending_approvals
from colleague.store.overview import (
    count_dead_letters,
    count_unread,
    dead_letters,
    runs_by_status,
    spent_today_by_expert,
    unsent,
)
from colleague.store.tx import Tx
from colleague.triggers.agent_schedules import agent_documents
from colleague.triggers.trigger_list import trigger_documents

router = APIRouter(prefix="/api", tags=["status"])

MOST_SCHEDULES = 20


class StatusDocument(BaseModel):
    """How everything stands."""

    model_config = ConfigDict(extra="allow")

    gateway: dict[str, Any]
    runs: dict[str, int]
    approvals: list[ApprovalDocument]
    """The oldest; `approvals_total` says how many there are, and /api/approvals has all of them."""
    approvals_total: int
    dead_letters: list[str]
    dead_letters_total: int
    undelivered: int
    unread_total: int
    """Deliveries that nobody has read; /api/deliveries has them."""
    next_schedules: list[TriggerDocument]
    spent_today: list[dict[str, Any]]
    problems: list[str]


@router.get("/status", response_model=StatusDocument, responses=with_token())
async def status(gateway: GatewayDep) -> dict[str, Any]:
    """Gateway, worker, queue, waiting approvals, next schedules, spend today, problems."""
    return await gateway.database.read(lambda tx: _document(tx, gateway))


def _document(tx: Tx, gateway: Gateway) -> dict[str, Any]:
    triggers = trigger_documents(tx, gateway.registry, gateway.trigger_problems)
    coming = [each for each in [*triggers, *agent_documents(tx, gateway.live.settings)] if each["next_at"]]
    listening = gateway.live.listening
    return {
        "gateway": {
            "pid": os.getpid(),
            "address": listening.address,
            "port": listening.port,
            "started_at": gateway.started_at,
            "busy": gateway.services.worker.busy,
            "limit": gateway.host.limit,
        },
        "runs": runs_by_status(tx),
        "approvals": [approval_report(tx, gateway.home, each) for each in pending_approvals(tx, 100)],
        "approvals_total": count_approvals(tx),
        "dead_letters": [run.id for run in dead_letters(tx, limit=100).items],
        "dead_letters_total": count_dead_letters(tx),
        "undelivered": unsent(tx),
        "unread_total": count_unread(tx),
        "next_schedules": sorted(coming, key=lambda each: str(each["next_at"]))[:MOST_SCHEDULES],
        "spent_today": [asdict(each) for each in spent_today_by_expert(tx)],
        "problems": gateway.problems,
    }
