"""What people do with the experts of a home: the part of the service that the page and programs use.

`runtime/local_experts.py` does it in this process, `runtime/remote_experts.py` asks the gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from colleague.expert_document import (
    BindableDocument,
    EnabledDocument,
    ExpertActivity,
    ExpertPrompt,
    FileDifference,
    FileDocument,
    FileTextDocument,
    FileVersionDocument,
    LearningsDocument,
    PackagePreview,
    UpdatePreview,
    ValidationDocument,
)

Tell = Callable[[str], None]
"""Hears what a long piece of work is at. A gateway that is asked from elsewhere tells nothing."""


def tell_nobody(_: str) -> None:
    pass


@dataclass(frozen=True)
class SourceRequest:
    """Where a package comes from, as a person would type it; an empty name is the package's own."""

    source: str
    path: str = ""
    name: str = ""
    link: bool = False


@dataclass(frozen=True)
class BindRequest:
    """A tool and what it is bound to: an MCP server, or a skill."""

    tool: str
    server: str
    skill: bool = False
    operations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UpdateRequest:
    """`accept_edits` takes the folder in the home as it is; `to` names another branch, tag or commit."""

    accept_edits: bool = False
    to: str = ""


@dataclass(frozen=True)
class AcceptedUpdate:
    """An update that a person looked at. `force` and `loosen` are their words for what needs one."""

    digest: str
    force: bool = False
    loosen: bool = False


class ExpertService(Protocol):
    """Raises ColleagueError with a sentence."""

    async def experts(self) -> list[dict[str, Any]]:
        """Every expert in the home, by name."""
        ...

    async def expert(self, name: str) -> dict[str, Any]:
        """Everything about one, without private knowledge."""
        ...

    async def triggers(self, expert: str = "") -> list[dict[str, Any]]:
        """The triggers of one expert or of all, with the next time of each and what holds it up."""
        ...

    async def check_expert(
        self, name: str, *, probe: bool = False, tell: Tell = tell_nobody
    ) -> ValidationDocument:
        """What is wrong with an expert, and the cure. With `probe` its servers are started and asked."""
        ...

    async def expert_activity(self, name: str) -> ExpertActivity:
        """Open lanes, spend against budgets, and the last events."""
        ...

    async def expert_prompt(self, name: str) -> ExpertPrompt: ...

    async def learnings(self, name: str) -> LearningsDocument:
        """What an expert has learned, and what it proposes to learn."""
        ...

    async def expert_files(self, name: str) -> list[FileDocument]:
        """Its state files, and whatever else of it has versions."""
        ...

    async def file_versions(self, name: str, file: str, *, limit: int = 100) -> list[FileVersionDocument]:
        """The newest first."""
        ...

    async def file_text(self, name: str, file: str, version: int | None = None) -> FileTextDocument:
        """One version, or the newest."""
        ...

    async def file_difference(self, name: str, file: str, before: int, after: int) -> FileDifference: ...

    async def bindable(self, name: str) -> BindableDocument:
        """The servers and skills that there are."""
        ...

    async def preview_source(self, asked: SourceRequest, *, tell: Tell = tell_nobody) -> PackagePreview:
        """Fetches and checks a package, and installs nothing."""
        ...

    async def install_expert(
        self, asked: SourceRequest, digest: str, *, tell: Tell = tell_nobody
    ) -> dict[str, Any]:
        """Installs exactly the package of that digest."""
        ...

    async def bind_tool(self, name: str, asked: BindRequest) -> None: ...

    async def unbind_tool(self, name: str, tool: str) -> None: ...

    async def enable_expert(self, name: str) -> EnabledDocument:
        """Turns its triggers on, if everything that they need is there."""
        ...

    async def disable_expert(self, name: str) -> None: ...

    async def preview_update(
        self, name: str, asked: UpdateRequest, *, tell: Tell = tell_nobody
    ) -> UpdatePreview:
        """Fetches the source's version and compares; nothing changes."""
        ...

    async def update_expert(
        self, name: str, asked: UpdateRequest, accepted: AcceptedUpdate, *, tell: Tell = tell_nobody
    ) -> UpdatePreview:
        """Moves to exactly the version of the accepted digest."""
        ...

    async def remove_expert(self, name: str, *, purge: bool = False) -> None:
        """Its state and bindings stay, unless purged."""
        ...
