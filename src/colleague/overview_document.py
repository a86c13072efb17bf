"""How a home has done lately, as a document: the same from the store to the page and over HTTP.

Imports nothing of ours, so that a command that only asks a gateway can use it."""

from __future__ import annotations

from typing_extensions import TypedDict


class OutcomeCount(TypedDict):
    """Runs that came in on one day and ended in one way."""

    day: str
    outcome: str
    runs: int


class SpendCount(TypedDict):
    """What one expert used on one day."""

    day: str
    expert: str
    tokens: int
    cost: float


class QueueCount(TypedDict):
    """Unfinished runs of one expert now."""

    expert: str
    status: str
    runs: int


class WaitCount(TypedDict):
    """Decisions for which people took at least `from_seconds`, and less than `to_seconds`; null: no end."""

    from_seconds: int
    to_seconds: int | None
    decisions: int


class CauseCount(TypedDict):
    """Runs that failed with an error that begins with `cause`; empty where none was said."""

    cause: str
    runs: int


class OverviewDocument(TypedDict):
    """Days are those of UTC, the last one is today. `decisions` and `failures` look at the newest ones only,
    as many as `looked_at` says at most."""

    days: list[str]
    outcomes: list[OutcomeCount]
    spend: list[SpendCount]
    queue: list[QueueCount]
    waits: list[WaitCount]
    median_wait_seconds: int | None
    failures: list[CauseCount]
    looked_at: int


class DecisionBrief(TypedDict):
    """A decided question in a list."""

    id: str
    run_id: str
    expert: str
    operation: str
    kind: str
    decision: str | None
    decided_by: str | None
    decided_at: str | None
    waited_seconds: int
