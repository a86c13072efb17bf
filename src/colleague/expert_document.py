"""An installed expert as documents: the same from its files to the page and over HTTP.

Imports nothing of ours, so that a command that only asks a gateway can use it."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from colleague.run_document import ApprovalDocument


class FindingDocument(TypedDict):
    """Something that is wrong, where it stands, and what to do."""

    severity: Literal["error", "warning"]
    code: str
    file: str
    line: int
    message: str
    hint: str


class ValidationDocument(TypedDict):
    """What `expert validate --json` prints. `servers` are those that were started and asked."""

    expert: str
    version: str
    ok: bool
    findings: list[FindingDocument]
    servers: list[str]


class LaneDocument(TypedDict):
    """Runs in one queue: the first works or waits, the others stand behind it. Null is no queue at all."""

    lane: str | None
    open: int
    first: str
    first_status: str


class SpentDocument(TypedDict):
    """What was used in a day."""

    day: str
    tokens: int
    cost: float
    tool_calls: int


class LimitDocument(TypedDict):
    """A budget; null is no limit."""

    tokens: int | None
    cost: float | None
    tool_calls: int | None


class ExpertActivity(TypedDict):
    """What an expert has before it, and what it used. `days` are the last seven, today first."""

    lanes: list[LaneDocument]
    days: list[SpentDocument]
    day_budget: LimitDocument
    run_budget: LimitDocument
    events: list[dict[str, Any]]


class FileDocument(TypedDict):
    """A file of an expert. `versions` is 0 for one that no run has changed."""

    path: str
    versions: int
    written_at: str | None
    scope: str | None


class FileVersionDocument(TypedDict):
    """One version of a file. `author` is a run, a package, or a person."""

    author: str
    path: str
    version: int
    written_at: str | None
    run_id: str | None
    size: int


class FileTextDocument(TypedDict):
    """The text of a file; `version` is null for one as it is on disk, without any versions."""

    path: str
    version: int | None
    text: str


class FileDifference(TypedDict):
    """What changed from one version to another, as lines of a unified diff."""

    path: str
    before: int
    after: int
    lines: list[str]


class LearningDocument(TypedDict):
    """One learning; `scope` is `package` or the name of a function."""

    id: str
    scope: str
    title: str
    date: str
    source: str
    observation: str
    correction: str
    confidence: str


class ProposedLearning(TypedDict):
    """A learning that waits for a decision: the file it changes, and how, as lines of a unified diff."""

    approval: ApprovalDocument
    file: str
    lines: list[str]


class LearningsDocument(TypedDict):
    learned: list[LearningDocument]
    proposed: list[ProposedLearning]


class ExpertPromptSection(TypedDict):
    name: str
    chars: int
    text: str


class ExpertPrompt(TypedDict):
    """The system prompt of an expert. Runs of a process are told the process in their first message."""

    expert: str
    session: str
    chars: int
    sections: list[ExpertPromptSection]
    prompt: str


class PackagePreview(TypedDict):
    """A package that could be installed; `digest` names exactly these files. `taken`: the name is in use."""

    source: str
    name: str
    taken: bool
    version: str
    description: str
    digest: str
    tools: list[str]
    tiers: dict[str, list[str]]
    default_tier: str
    triggers: list[dict[str, Any]]
    findings: list[FindingDocument]


class ChangeDocument(TypedDict):
    """One line of a difference; `loosens` when the expert may do more than before without being asked."""

    what: str
    loosens: bool


class UpdatePreview(TypedDict):
    """What an update would change. `digest` names the new files. `needs_force` says why it takes force."""

    expert: str
    source: str
    before: str
    after: str
    digest: str
    current: bool
    pinned: bool
    needs_force: str
    changes: list[ChangeDocument]


class EnabledDocument(TypedDict):
    """`problems` are sentences about triggers that cannot work; the others are on."""

    expert: str
    enabled: bool
    problems: list[str]


class BindableDocument(TypedDict):
    """What the tools of an expert can be bound to here."""

    servers: list[str]
    skills: list[str]
