"""What /openapi.json promises is what comes: every operation, with what fits and what does not."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi import checks as openapi_checks

from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import BEARER, HOOK_BEARER, Running

SECONDS = 10.0
PATIENCE = 240
"""Seconds for an answer: the ten of requests are too few where others are at work, too."""
TRUE = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.response_headers_conformance,
]


@pytest.fixture(scope="module")
def operations(shared: Running) -> list[Any]:
    """All of them, over a home in which there is something to find."""
    shared.ended(shared.hook(f"{CLERK}/order", {"id": "o-1"}).json()["run_id"])
    schema = schemathesis.openapi.from_url(f"{shared.url}/openapi.json", timeout=PATIENCE)
    return [found.ok() for found in schema.get_all_operations()]


def sent(shared: Running, operation: Any, mode: GenerationMode, deadline: float) -> Counter[int]:
    """Sends what fits, or what does not, and looks at every answer; how often each code came.

    Each operation is called once at least, and more often while there is time."""
    headers = HOOK_BEARER if operation.path.startswith("/hooks") else BEARER
    codes: Counter[int] = Counter()

    @settings(
        max_examples=4,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def keeps(case: Any) -> None:
        if not codes or time.monotonic() < deadline:
            answer = case.call(base_url=shared.url, headers=headers, timeout=PATIENCE)
            codes[answer.status_code] += 1
            case.validate_response(answer, checks=TRUE)

    with suppress(Unsatisfiable):  # nothing can be wrong about an operation that takes nothing
        keeps()
    return codes


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_operation_keeps_its_promise(
    shared: Running, operations: list[Any], mode: GenerationMode
) -> None:
    assert len(operations) > 25
    deadline = time.monotonic() + SECONDS
    codes: Counter[int] = Counter()
    for operation in operations:
        if not operation.path.endswith("/events"):
            codes += sent(shared, operation, mode, deadline)
    assert codes.total() > 25
    assert max(codes) < 500


def test_each_operation_that_needs_the_token_says_so(operations: list[Any]) -> None:
    for operation in operations:
        raw = operation.definition.raw
        guarded = operation.path.startswith(("/api", "/v1")) or operation.path == "/metrics"
        assert bool(raw.get("security")) == guarded, operation.path
        assert ("401" in raw["responses"]) == (guarded or operation.path.startswith("/hooks")), operation.path
        assert "422" not in raw["responses"] or "HTTPValidationError" not in str(raw["responses"]["422"])


def test_ids_that_are_there_keep_it_too(shared: Running, operations: list[Any]) -> None:
    """Random ids are never found, so the good answers are looked at with real ones."""
    run = shared.get("/api/runs").json()[0]["id"]
    event = shared.get(f"/api/runs/{run}").json()["event_id"]
    known = {"/api/runs/{id}": run, "/api/events/{id}": event, "/api/experts/{name}": CLERK}
    met = 0
    for operation in operations:
        if operation.method.upper() == "GET" and operation.path in known:
            [name] = [part.strip("{}") for part in operation.path.split("/") if part.startswith("{")]
            case = operation.Case(path_parameters={name: known[operation.path]})
            answer = case.call(base_url=shared.url, headers=BEARER)
            assert answer.status_code == 200
            case.validate_response(answer, checks=TRUE)
            met += 1
    assert met == 3
