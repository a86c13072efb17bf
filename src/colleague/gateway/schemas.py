"""The shapes of bodies and answers that several routes share, as OpenAPI tells them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from colleague.run_document import Decision


def storable(value: Any) -> Any:
    """What no database takes is refused here, with a reason, and not there, with a traceback."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("there is half of a surrogate pair in it") from None
    except (ValueError, RecursionError):
        raise ValueError("it holds a number without a value, or too many levels") from None
    return value


Json = Annotated[Any, AfterValidator(storable)]
JsonObject = Annotated[dict[str, Any], AfterValidator(storable)]
SmallMap = Annotated[
    dict[Annotated[str, Field(max_length=50)], Annotated[str, Field(max_length=500)]],
    Field(max_length=20),
    AfterValidator(storable),
]
MOST_WAIT = 600.0
"""Seconds."""


class Error(BaseModel):
    model_config = ConfigDict(extra="allow")

    code: str
    message: str
    hint: str | None = None


class ErrorAnswer(BaseModel):
    """The body of every error response."""

    error: Error


class RequestBody(BaseModel):
    """A body that is sent here: an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid")


class EventAccepted(BaseModel):
    """One event of a hook. `run_id` is null when it is held, or looked up first. A message that is said to
    an agent has the session and what became of it there."""

    event_id: str
    run_id: str | None
    expert: str | None = None
    trigger: str | None = None
    duplicate: bool
    held: bool = False
    warning: str | None = None
    session_key: str | None = None
    queued: str | None = None


class HookAnswer(EventAccepted):
    """`events` has all of them when a payload held several."""

    events: list[EventAccepted] | None = None


class EventsAccepted(BaseModel):
    events: list[EventAccepted]


class AcceptedDocument(BaseModel):
    """A run that was asked for."""

    event_id: str
    run_id: str | None
    duplicate: bool = False
    held: bool = False


class DecisionAsked(RequestBody):
    """`digest` is that of what the person saw. `arguments` replaces what will run, `changes` changes single
    fields of it (a JSON merge patch); `result` says what came of it, or answers in the tool's place."""

    decision: Decision
    digest: Annotated[str, Field(min_length=1, max_length=200)]
    note: Annotated[str, Field(max_length=10_000)] = ""
    arguments: JsonObject | None = None
    changes: JsonObject | None = None
    result: Json = None
    by: Annotated[str, Field(max_length=200)] = ""
    grant_ms: Annotated[int, Field(ge=0, le=10**12)] | None = None
    """Do not ask again for this long; 0 is for this run."""
    grant_only: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=50)] = Field(
        default_factory=list
    )
    """Arguments that must stay what they are in this call for the grant to count."""


class RetryAsked(RequestBody):
    inputs: JsonObject = Field(default_factory=dict)


Name = Annotated[str, Field(max_length=200)]


class Changed(BaseModel):
    """Whether anything had to be changed, and to what."""

    changed: bool
    released: int | None = None


class Removed(BaseModel):
    name: str


class Revoked(BaseModel):
    id: str


class RunStarted(BaseModel):
    run_id: str


class ExpertBrief(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str
    version: str
    description: str
    readable: bool
    problem: str | None = None
    enabled: bool
    linked: bool
    accepted: bool
    source: str | None
    tools: dict[str, str | None]
    triggers: list[Any]


class ExpertDocument(ExpertBrief):
    """Everything there is to know of an expert, by name."""


class TriggerProblemDocument(BaseModel):
    code: str
    message: str
    cure: str


class TriggerDocument(BaseModel):
    """`problem` says why it does not fire now, `problems` why it cannot work as things are."""

    expert: str
    trigger: str
    type: str
    handler: str
    process: str
    address: str | None
    concurrency: str
    concurrency_key: str | None
    state: Literal["active", "inactive", "paused"]
    active: bool
    enabled: bool
    problem: str | None
    paused: bool
    paused_at: str | None
    paused_by: str | None
    next_at: str | None
    last_at: str | None
    queued: int
    held: int
    problems: list[TriggerProblemDocument]
