"""What is asked of a service, and what it answers: plain data, for this process and over HTTP alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from colleague.errors import UsageError
from colleague.run_document import ApprovalDocument, Decision, DryRun
from colleague.session_document import Queued

MOST_CHARACTERS = 100_000
MOST_FILE_CHARACTERS = 60_000
"""Of a file that goes along with a message as text."""
MOST_PENDING = 200


@dataclass(frozen=True)
class AcceptedEvent:
    """An event that is stored now. `run_id` is None when it is held; a repeat has the ids of the first."""

    event_id: str
    run_id: str | None
    duplicate: bool = False


@dataclass(frozen=True)
class MessageRequest:
    """What is said to a session, and how its turn is to run."""

    text: str
    model: str = ""
    queue_mode: str | None = None
    thinking: str = ""
    disable_tools: bool = False
    timeout_seconds: float | None = None
    extra_system_prompt: str = ""
    sender: dict[str, str] = field(default_factory=dict)
    place: dict[str, str] = field(default_factory=dict)
    attachments: tuple[dict[str, Any], ...] = ()
    dedupe_key: str | None = None
    earlier: tuple[tuple[str, str], ...] = ()
    """Role and text of what was said before, where the caller keeps the conversation; never over HTTP."""
    hidden: bool = False
    """A session that it makes belongs to this message alone, and is in no list."""


@dataclass(frozen=True)
class SentMessage:
    """What became of a message. `run_id` is the turn that it started or steers; None while it waits."""

    event_id: str
    run_id: str | None
    queued: Queued
    session_key: str
    duplicate: bool = False
    reason: str | None = None
    """Why it was dropped or denied."""
    problems: tuple[str, ...] = ()
    """Sentences about pictures and files that were left out."""


@dataclass(frozen=True)
class TurnAnswer:
    """How the turn of a message came out: it is done, waits for a person, or the message was skipped.

    `approvals` are the questions of this turn that wait for a person, parked ones, too."""

    run_id: str | None
    status: str
    outcome: str | None = None
    text: str = ""
    approvals: tuple[ApprovalDocument, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class RunRequest:
    """What an expert is to do: a task in words, or a process with its inputs."""

    expert: str
    task: str = ""
    process: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    dry_run: DryRun = False


@dataclass(frozen=True)
class ForkRequest:
    """A run, and the step at which another one of the same work is to begin."""

    run: str
    from_step: int
    model: str = ""
    dry_run: DryRun = False


@dataclass(frozen=True)
class DecisionRequest:
    """One decision. `digest` is what the person saw; empty takes the one that is stored now.

    `answer` is edited arguments, a response or a result, as JSON; `changes` are laid over the arguments
    instead (a merge patch). `grant_ms`: do not ask again for this long; 0 means for this run. `grant_only`:
    arguments that must stay what they are now for the grant to count."""

    approval: str
    decision: Decision
    by: str
    digest: str = ""
    note: str = ""
    answer: str | None = None
    grant_ms: int | None = None
    grant_only: tuple[str, ...] = ()
    changes: dict[str, Any] | None = None


@dataclass(frozen=True)
class Refusal:
    """Why a decision does not count."""

    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True)
class GivenGrant:
    """A grant that was given with a decision, and what it covers, in a sentence."""

    id: str
    covers: str


@dataclass(frozen=True)
class DecisionAnswer:
    """What came of one decision. `refusal` says why it does not count; then there is an approval only if it
    was decided before."""

    asked: str
    approval: ApprovalDocument | None = None
    grant: GivenGrant | None = None
    refusal: Refusal | None = None


def require_message(text: str) -> None:
    """Raises UsageError for a message that no agent is given."""
    if not text.strip():
        raise UsageError("the message is empty", hint="say what to do")
    _require_short(text, "message")
    if "\0" in text or any("\ud800" <= each <= "\udfff" for each in text):
        raise UsageError(
            "the message is no text: there is binary data in it", hint="send a file as an attachment"
        )


def require_work(asked: RunRequest) -> None:
    """Raises UsageError unless there is either a task or a process."""
    if bool(asked.task.strip()) == bool(asked.process):
        raise UsageError("say what to do: task or process", hint="one of them, not both")
    if asked.task and asked.inputs:
        raise UsageError("inputs belong to a process", hint="put them into the text of the task")
    _require_short(asked.task, "task")


def _require_short(text: str, what: str) -> None:
    if len(text) > MOST_CHARACTERS:
        raise UsageError(
            f"the {what} has {len(text)} characters, and at most {MOST_CHARACTERS} are taken",
            hint="put the text into a file that the agent can read",
        )


def decided_runs(answers: Sequence[DecisionAnswer]) -> list[str]:
    """The runs that go on after a decision, each once, in order: those that waited, or the turns that the
    decisions about parked questions began."""
    made = [each.approval for each in answers if each.approval and not each.refusal]
    return list(dict.fromkeys(each["turn_run_id"] or each["run_id"] for each in made))


@dataclass(frozen=True)
class AuditQuery:
    """Which entries of the audit log are wanted. `action` is `noun.verb` or a noun; times are as people write
    them: `2h`, `2026-11-16`, an ISO time. `after` is the id of the last entry of a page."""

    who: str = ""
    action: str = ""
    expert: str = ""
    text: str = ""
    since: str = ""
    until: str = ""
    limit: int = 100
    after: str = ""
