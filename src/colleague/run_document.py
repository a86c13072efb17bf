"""A run and an approval as documents: the same from the store to the terminal and over HTTP.

Imports nothing of ours, so that a command that only asks a gateway can use it."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

RunStatus = Literal["queued", "running", "waiting", "retrying", "done"]
RunOutcome = Literal["completed", "failed", "dead_letter", "abandoned", "cancelled"]
ApprovalKind = Literal["confirm", "draft", "uncertain", "learning", "low_confidence", "elicitation"]
ApprovalStatus = Literal["pending", "decided", "expired", "withdrawn", "void"]
DryRun = bool | Literal["strict"]
"""Whether what needs a person is only described; `strict`: and whatever is not known to read."""
Decision = Literal["approve", "reject", "respond", "done", "not_done", "happened", "again", "give_up"]

ErrorKind = Literal["context_overflow", "compaction_failure", "role_ordering", "image_size"]
ReasoningMode = Literal["off", "on", "stream"]
"""`on`: what was thought is told when it is complete. `stream`: as it comes."""
VerboseLevel = Literal["off", "on", "full"]
"""`on`: each call in a line. `full`: and its result. What went wrong, or waits, is always told."""

QUESTIONS = ("approval", "draft", "learning", "proposal")
"""Kinds of messages that ask something: whoever decides has read them."""
REHEARSAL_MODELS = "rehearsal/"
"""How the names of models begin that only walk through a process."""
SHOWN = 8


def short(identifier: str) -> str:
    """The ending of an id that lists show and people type."""
    return identifier[-SHOWN:]


class TroubleDocument(TypedDict):
    """Why a run under way does not get on, since when, and when it tries again."""

    text: str
    since: str | None
    next_try_at: str | None


class ForkDocument(TypedDict):
    """The other run of a fork, and the step of the first one at which the second began."""

    id: str
    step: int


class RunBrief(TypedDict):
    """What a list shows of a run. `rehearsal` is true of one that no model thought about. `forked_from` is
    the run at a step of which it began."""

    id: str
    expert: str
    kind: Literal["expert", "agent", "subagent"]
    process: str
    parent_run: str | None
    status: RunStatus
    outcome: RunOutcome | None
    error: str | None
    created_at: str | None
    ended_at: str | None
    trouble: TroubleDocument | None
    dry_run: DryRun
    rehearsal: bool
    forked_from: ForkDocument | None


class AheadDocument(TypedDict):
    """The unfinished run that a queued one waits for, because it is the first of their lane."""

    id: str
    status: RunStatus
    trouble: TroubleDocument | None
    retry_at: str | None


class AttemptDocument(TypedDict):
    """One attempt of a run; `outcome` is null while it is under way."""

    number: int
    started_at: str | None
    ended_at: str | None
    outcome: str | None
    error: str | None


class StepDocument(TypedDict):
    """One step of the run's process, and how the agent marked it."""

    number: int
    text: str
    status: Literal["open", "done", "skipped", "failed"]
    note: str | None
    attempt: int | None
    at: str | None


class CallDocument(TypedDict):
    """One call. `result` has `text`, and `source` where it is known; private text is left out. `taken_from`
    is the run that made it, where a fork only took over what came of it."""

    id: str
    session: str
    operation: str
    tier: str
    arguments: Any
    status: str
    sends: int
    taken_from: str | None
    result: dict[str, Any] | None
    is_error: bool
    started_at: str | None
    ended_at: str | None


class MessageDocument(TypedDict):
    """What was, or is to be, told to people: a delivery or a notice."""

    id: str
    kind: str
    subject: str
    run_id: str
    status: str
    channel: str
    at: str | None
    read_by: str | None
    error: str | None
    body: Any


class SlaDocument(TypedDict):
    """How long the run may take, and when it took longer."""

    limit: str
    breached: bool
    at: str | None


class UsageDocument(TypedDict):
    """Tokens, and their price in dollars. Those from and to the provider's cache are among the input."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost: float


class PayloadDocument(TypedDict):
    """One message to people. `media` are addresses or paths; `reply_to` is `current`, or the id of the
    message that it answers; `as_voice` asks for speech."""

    text: str
    media: list[str]
    reply_to: str | None
    as_voice: bool
    is_error: bool


class RunErrorDocument(TypedDict):
    """Why a run failed. `kind` is null for what is not among the kinds."""

    kind: ErrorKind | None
    message: str


class PendingCall(TypedDict):
    """A call that was asked for and has not run."""

    id: str
    name: str
    arguments: Any


class SentMessageDocument(TypedDict):
    """What an agent wrote to people elsewhere than in its answer; empty is the session's own place."""

    channel: str
    to: str
    thread: str
    text: str


class RunResultDocument(TypedDict):
    """What a run came to. `silent` is the word by which the agent chose to say nothing. `stop_reason` is how
    the model ended its last answer, or `waiting`, `aborted`, `error`."""

    payloads: list[PayloadDocument]
    silent: str | None
    duration_ms: int | None
    aborted: bool
    stop_reason: str
    error: RunErrorDocument | None
    pending_tool_calls: list[PendingCall]
    sent: list[SentMessageDocument]
    session_id: str | None


class LevelsDocument(TypedDict):
    """How much people are told of what the agent thinks and does: as its session or the settings say."""

    reasoning: ReasoningMode
    verbose: VerboseLevel


class ModelRequestDocument(TypedDict):
    """One request to a model. `outcome` is `answered`, or why it failed; null is what nobody counted."""

    model: str
    profile: str | None
    thinking: str
    session: str
    turn: int
    outcome: str
    error: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    seconds: float
    at: str | None


class RunHeading(TypedDict):
    """What the first line of a run says, and how it is shown: the part of a RunDocument that is known, and
    quickly found, as soon as the run is stored."""

    id: str
    expert: str
    kind: Literal["expert", "agent", "subagent"]
    process: str
    model: str
    steps: list[StepDocument]
    levels: LevelsDocument


class RunDocument(RunBrief):
    """Everything the runtime did for one run.

    `model` is what it thinks with, as provider/model; empty when that cannot be said. `ahead` is the run that
    it stands behind in its lane, `blocked_by` the same when that one waits for a person. `turns` counts the
    answers of its model. `parent_run` handed the work over, `child_runs` were handed work, `forks` began at a
    step of it. One that waits on nobody waits for a child. `result` is null until it is done, or waits."""

    version: str
    model: str
    turns: int
    inputs: Any
    event_id: str | None
    session_key: str
    lane: str | None
    waiting_on: list[str]
    retry_at: str | None
    behind: int
    ahead: AheadDocument | None
    blocked_by: str | None
    attempts: list[AttemptDocument]
    steps: list[StepDocument]
    calls: list[CallDocument]
    approvals: list[str]
    child_runs: list[str]
    forks: list[ForkDocument]
    outputs: Any
    narrative: str | None
    delivery: MessageDocument | None
    notices: list[MessageDocument]
    sla: SlaDocument | None
    usage: UsageDocument
    levels: LevelsDocument
    result: RunResultDocument | None
    model_requests: list[ModelRequestDocument]


class ApprovalDocument(TypedDict):
    """One question: what would run, why, how it was decided; `behind` counts the runs that wait for it.

    A conversation goes on while a `parked` question waits; what was decided is the turn `turn_run_id`."""

    id: str
    kind: ApprovalKind
    expert: str
    process: str
    run_id: str
    call_id: str | None
    send: int | None
    operation: str
    arguments: Any
    parameters: dict[str, Any] | None
    digest: str
    reasoning: str
    status: ApprovalStatus
    requested_at: str | None
    expires_at: str | None
    on_timeout: str
    decided_at: str | None
    decided_by: str | None
    decision: Decision | None
    note: str | None
    answer: str | None
    parked: bool
    turn_run_id: str | None
    behind: int
