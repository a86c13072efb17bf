"""Requests to models as they are stored: what each was made with, how it ended, what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from colleague.store.ids import new_id
from colleague.store.tables import model_requests
from colleague.store.tx import Tx

ANSWERED = "answered"
LONGEST_ERROR = 1000


@dataclass(frozen=True)
class NewModelRequest:
    """A request that has ended. `outcome` is `answered`, or why it failed; None where nobody counted."""

    session: str
    turn: int
    model: str
    profile: str
    thinking: str
    outcome: str
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    took_ms: int = 0


@dataclass(frozen=True)
class ModelRequestRow:
    """One row of `model_requests`."""

    id: str
    run_id: str
    session: str
    turn: int
    model: str
    profile: str
    thinking: str
    outcome: str
    error: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    took_ms: int
    ended_at: int


def add_model_request(tx: Tx, run_id: str, made: NewModelRequest) -> None:
    values = vars(made) | {"error": made.error[:LONGEST_ERROR] if made.error else None}
    tx.insert(model_requests, id=new_id(), run_id=run_id, ended_at=tx.now, **values)


def model_requests_of(tx: Tx, run_id: str) -> list[ModelRequestRow]:
    """In the order they ended."""
    return tx.find(ModelRequestRow, model_requests, {"run_id": run_id}, order=("id",))
