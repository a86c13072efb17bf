"""The shapes of answers, as OpenAPI tells them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from colleague.main_names import MAIN_AGENT
from colleague.run_document import ApprovalDocument, Decision, MessageDocument, RunBrief
from colleague.session_document import Queued


def _storable(value: Any) -> Any:
    """What no database takes is refused here, with a reason, and not there, with a traceback."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("there is half of a surrogate pair in it") from None
    except (ValueError, RecursionError):
        raise ValueError("it holds a number without a value, or too many levels") from None
    return value


Json = Annotated[Any, AfterValidator(_storable)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_storable)]
SmallMap = Annotated[
    dict[Annotated[str, Field(max_length=50)], Annotated[str, Field(max_length=500)]],
    Field(max_length=20),
    AfterValidator(_storable),
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


class Asked(BaseModel):
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


class Acceptance(BaseModel):
    """When it was accepted, how often the same was sent again, and whether a pause holds it."""

    at: str
    duplicates: int
    held: bool


class EventDocument(BaseModel):
    """Accepted, run and delivered are three facts."""

    id: str
    expert: str
    trigger: str
    source: str
    status: Literal[
        "held", "resolving", "skipped", "resolved", "queued", "running", "waiting", "retrying", "done"
    ]
    accepted: Acceptance
    run: RunBrief | None
    delivery: MessageDocument | None
    outcome: str | None
    reason: str | None
    warning: str | None


class DeliveryDocument(BaseModel):
    """`status` is `delivered` when somebody got it, `waiting` until then; `error` says what it waits for."""

    model_config = ConfigDict(extra="allow")

    id: str
    kind: str
    run_id: str
    status: Literal["waiting", "sending", "failed", "delivered"]
    channel: str
    at: str | None
    read_by: str | None
    error: str | None
    body: dict[str, Any]


class ReadAsked(Asked):
    by: Annotated[str, Field(max_length=200)] = ""


class DecisionAsked(Asked):
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


class DecisionInBatch(DecisionAsked):
    id: Annotated[str, Field(min_length=1, max_length=100)]


class BatchAsked(Asked):
    decisions: Annotated[list[DecisionInBatch], Field(min_length=1, max_length=200)]


class GrantGiven(BaseModel):
    """A grant that came with a decision; `covers` says it in a sentence."""

    id: str
    covers: str


class BatchItem(BaseModel):
    """What came of one decision: the approval as it is now, or why it does not count."""

    id: str
    ok: bool
    approval: ApprovalDocument | None = None
    grant: GrantGiven | None = None
    error: Error | None = None


class BatchAnswer(BaseModel):
    decisions: list[BatchItem]


class RunAsked(Asked):
    """Either `task` or `process`."""

    task: Annotated[str, Field(max_length=100_000)] = ""
    process: Annotated[str, Field(max_length=200)] = ""
    inputs: JsonObject = Field(default_factory=dict)
    model: Annotated[str, Field(max_length=200)] = ""
    dry_run: bool | Literal["strict"] = False


class RestoreAsked(Asked):
    """A file of an expert, and the version that it is to have again."""

    file: Annotated[str, Field(min_length=1, max_length=1000)]
    version: Annotated[int, Field(ge=1, le=2**31 - 1)]


class Restored(BaseModel):
    """`version` is the new one; null when the file has that text already."""

    path: str
    version: int | None


class RetryAsked(Asked):
    inputs: JsonObject = Field(default_factory=dict)


class ForkAsked(Asked):
    """Without `model` the fork thinks with what the run was asked to think with."""

    from_step: int
    model: Annotated[str, Field(max_length=200)] = ""
    dry_run: bool | Literal["strict"] = False


class CancelAsked(Asked):
    note: Annotated[str, Field(max_length=10_000)] = "cancelled through the API"


Name = Annotated[str, Field(max_length=200)]


class MessageAsked(Asked):
    """What is said to a session, and how its turn is to run."""

    text: Annotated[str, Field(min_length=1), AfterValidator(_storable)]
    model: Name = ""
    queue_mode: Name | None = None
    """steer, followup, collect, steer-backlog, queue or interrupt; left out, the session's own mode."""
    wait: Annotated[float, Field(ge=0, le=MOST_WAIT)] | None = None
    """Seconds for which the answer of the turn is waited for."""
    thinking: Name = ""
    disable_tools: bool = False
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None
    extra_system_prompt: Annotated[str, Field(max_length=100_000), AfterValidator(_storable)] = ""
    sender: SmallMap = Field(default_factory=dict)
    """id, name, username, e164: of the person, as the channel knows them."""
    place: SmallMap = Field(default_factory=dict)
    """channel, account, to, thread, group, group_channel, group_space: where the message comes from."""
    attachments: Annotated[list[JsonObject], Field(max_length=50)] = Field(default_factory=list)
    dedupe_key: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_storable)] | None = None
    """The same message sent twice with the same key is taken once."""


class MessageSent(BaseModel):
    """What became of a message. `run_id` is the turn that it started or steers; null while it waits. `reason`
    says why it was dropped or denied; `problems` say which pictures and files were left out, and why."""

    event_id: str
    run_id: str | None
    queued: Queued
    session_key: str
    duplicate: bool = False
    reason: str | None = None
    problems: tuple[str, ...] = ()


class TurnAnswered(BaseModel):
    """How the turn of a message came out. `approvals` are its questions that wait for a person."""

    event_id: str
    run_id: str | None
    session_key: str
    status: Literal["done", "waiting", "skipped"]
    outcome: str | None
    text: str
    approvals: list[ApprovalDocument]
    error: str | None


class SessionChanges(BaseModel):
    """What is given is set; null clears it. The session itself says what it does not have."""

    model_config = ConfigDict(extra="allow")

    label: str | None = None
    model: Name | None = None
    thinking: Name | None = None
    reasoning: Name | None = None
    verbose: Name | None = None
    send_policy: Name | None = None
    queue_mode: Name | None = None


class SessionBy(Asked):
    by: Name = ""


class CompactAsked(Asked):
    instructions: Annotated[str, Field(max_length=10_000, description="What must stay")] = ""


class FireAsked(Asked):
    payload: Json = Field(default_factory=dict)


class PauseAsked(Asked):
    by: Annotated[str, Field(max_length=200)] = ""


class DropAsked(Asked):
    by: Annotated[str, Field(max_length=200)] = ""


class Changed(BaseModel):
    """Whether anything had to be changed, and to what."""

    changed: bool
    released: int | None = None


class PersonAsked(Asked):
    name: Annotated[str, Field(max_length=64)]
    role: Annotated[str, Field(max_length=20)] = "approver"
    experts: Annotated[list[str], Field(max_length=1_000)] = Field(default_factory=list)


class LinkAsked(Asked):
    """In whose name the question is decided, and for how long the link counts."""

    person: Annotated[str, Field(min_length=1, max_length=64)]
    lasts_ms: Annotated[int, Field(ge=60_000, le=30 * 86_400_000)] = 86_400_000


class Removed(BaseModel):
    name: str


class SignedOut(BaseModel):
    name: str
    browsers: int


class Revoked(BaseModel):
    id: str


class RunStarted(BaseModel):
    run_id: str


class RunCancelled(BaseModel):
    run_id: str
    cancelled: bool


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


class CanvasSummary(BaseModel):
    """`version` is the newest."""

    id: str
    agent_id: str
    session_key: str
    title: str
    kind: str
    version: int
    created_at: str
    updated_at: str


class CanvasDocument(CanvasSummary):
    """`content` is {text}, {columns, rows} or {type, labels, series}, as `kind` says."""

    shown_version: int
    run_id: str
    content: dict[str, Any]


class GrantDocument(BaseModel):
    """`covers` says it in a sentence; `reason` why it does not count, when `state` is not `live`. `only` are
    arguments that a call must have."""

    id: str
    expert: str
    operation: str
    run_id: str | None
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None
    uses: int
    approval_id: str | None
    server: str | None
    tool: str | None
    launch_digest: str | None
    schema_digest: str | None
    package_digest: str | None
    only: dict[str, Any]
    state: Literal["live", "lapsed", "expired", "revoked", "ended"]
    reason: str
    covers: str


class ModelAsked(Asked):
    """As provider/model, or script/FILE; empty for the default one."""

    model: Annotated[str, Field(max_length=300)] = ""


class SkillNeedsDocument(BaseModel):
    """What must be there before a skill is used; of `any_bins` one is enough."""

    os: list[str]
    bins: list[str]
    any_bins: list[str]
    env: list[str]
    config: list[str]
    always: bool


class SkillDocument(BaseModel):
    """A skill. `reasons` say why it is not used; `variables` are the names of those that its commands get."""

    name: str
    status: Literal["ready", "not eligible", "overridden", "broken"]
    source: Literal["plugin", "extra", "bundled", "managed", "workspace"]
    folder: str
    description: str
    reasons: list[str]
    hint: str | None
    homepage: str | None
    requires: SkillNeedsDocument | None
    primary_env: str | None
    variables: list[str]
    install: list[str]
    allowed_tools: list[str]
    user_invocable: bool
    model_invocable: bool
    warnings: list[str]


class AcceptAsked(Asked):
    digest: Annotated[str, Field(min_length=1, max_length=200)]
    by: Annotated[str, Field(max_length=200)] = ""


class AcceptToolsAsked(Asked):
    digest: Annotated[str, Field(min_length=1, max_length=200)]


class AuthProfileDocument(BaseModel):
    """A key of a provider, never the key itself. `state`: ready, cooldown, or unusable with a `problem`."""

    model_config = ConfigDict(extra="allow")

    profile: str
    provider: str
    place: int
    mode: str
    state: str
    problem: str | None
    source: str
    cooldowns: list[dict[str, Any]]
    last_used: str | None
    failures: dict[str, int]


class OrderAsked(Asked):
    provider: Annotated[str, Field(min_length=1, max_length=200)]
    profiles: Annotated[list[str], Field(max_length=200)]
    agent: Annotated[str, Field(max_length=200)] = MAIN_AGENT


class ClearCooldownAsked(Asked):
    profiles: Annotated[list[str], Field(max_length=200)] = []


class CooldownsCleared(BaseModel):
    """Those that were at rest."""

    cleared: list[str]


class StatisticsForgotten(BaseModel):
    profile: str


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
