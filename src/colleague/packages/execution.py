"""Timeout, retries and what happens after the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from colleague.duration import Duration, parse_duration
from colleague.packages.fields import Fields

Backoff = Literal["fixed", "exponential"]
OnFailure = Literal["escalate", "abandon", "dead_letter"]


@dataclass(frozen=True)
class Retry:
    """How often, and with what pause in between."""

    max_attempts: int = 1
    backoff: Backoff = "exponential"
    delay: Duration = parse_duration("30s")


@dataclass(frozen=True)
class Execution:
    """The guarantees of a process."""

    timeout: Duration | None = None
    idempotent: bool = False
    retry: Retry = Retry()
    on_failure: OnFailure = "escalate"
    resume_from_execution_log: bool = False


def read_execution(fields: Fields, default: Execution) -> Execution:
    """The execution in `fields`, field by field over what is inherited."""
    execution = Execution(
        timeout=fields.duration("timeout") or default.timeout,
        idempotent=fields.flag("idempotent", default.idempotent),
        retry=_read_retry(fields.child("retry"), default.retry),
        on_failure=cast(
            OnFailure, fields.choice("on_failure", ("escalate", "abandon", "dead_letter"), default.on_failure)
        ),
        resume_from_execution_log=fields.flag("resume_from_execution_log", default.resume_from_execution_log),
    )
    fields.finish()
    if fields.node is not None and execution.idempotent and execution.resume_from_execution_log:
        name = "idempotent" if fields.has("idempotent") else "resume_from_execution_log"
        message = "resume_from_execution_log has no effect with idempotent: true"
        fields.findings.add("resume-idempotent", fields.mark(name), message, "set one of the two to false")
    return execution


def _read_retry(fields: Fields, default: Retry) -> Retry:
    retry = Retry(
        max_attempts=fields.whole_number("max_attempts", default.max_attempts, least=1, most=100_000),
        backoff=cast(Backoff, fields.choice("backoff", ("fixed", "exponential"), default.backoff)),
        delay=fields.duration("delay", zero=True) or default.delay,
    )
    fields.finish()
    return retry
