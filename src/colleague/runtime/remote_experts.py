"""The experts of a home, asked of the gateway that holds it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
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
    from colleague.runtime.expert_service import (
        AcceptedUpdate,
        BindRequest,
        SourceRequest,
        Tell,
        UpdateRequest,
    )

LONG_SECONDS = 900.0
"""For what fetches from elsewhere, or starts servers."""
ASKED = "The gateway works on it"


def _nobody(_: str) -> None:
    pass


class RemoteExperts(ABC):
    """Asks over HTTP. What long work is at cannot be heard from here."""

    @abstractmethod
    async def _ask(self, method: str, path: str, body: Any = None, seconds: float = 30.0) -> Any: ...

    async def experts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._ask("GET", "/api/experts")
        return found

    async def expert(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._ask("GET", _at(name))
        return found

    async def triggers(self, expert: str = "") -> list[dict[str, Any]]:
        asked = f"?{urlencode({'expert': expert})}" if expert else ""
        found: list[dict[str, Any]] = await self._ask("GET", f"/api/triggers{asked}")
        return found

    async def check_expert(
        self, name: str, *, probe: bool = False, tell: Tell = _nobody
    ) -> ValidationDocument:
        tell(ASKED)
        body = {"probe": probe}
        found: ValidationDocument = await self._ask("POST", _at(name, "check"), body, LONG_SECONDS)
        return found

    async def expert_activity(self, name: str) -> ExpertActivity:
        found: ExpertActivity = await self._ask("GET", _at(name, "activity"))
        return found

    async def expert_prompt(self, name: str) -> ExpertPrompt:
        found: ExpertPrompt = await self._ask("GET", _at(name, "prompt"))
        return found

    async def learnings(self, name: str) -> LearningsDocument:
        found: LearningsDocument = await self._ask("GET", _at(name, "learnings"))
        return found

    async def expert_files(self, name: str) -> list[FileDocument]:
        found: list[FileDocument] = await self._ask("GET", _at(name, "files"))
        return found

    async def file_versions(self, name: str, file: str, *, limit: int = 100) -> list[FileVersionDocument]:
        where = _at(name, "files/versions", file=file, limit=limit)
        found: list[FileVersionDocument] = await self._ask("GET", where)
        return found

    async def file_text(self, name: str, file: str, version: int | None = None) -> FileTextDocument:
        which = {"version": version} if version is not None else {}
        found: FileTextDocument = await self._ask("GET", _at(name, "files/text", file=file, **which))
        return found

    async def file_difference(self, name: str, file: str, before: int, after: int) -> FileDifference:
        where = _at(name, "files/difference", file=file, before=before, after=after)
        found: FileDifference = await self._ask("GET", where)
        return found

    async def bindable(self, name: str) -> BindableDocument:
        found: BindableDocument = await self._ask("GET", _at(name, "bindable"))
        return found

    async def preview_source(self, asked: SourceRequest, *, tell: Tell = _nobody) -> PackagePreview:
        tell(ASKED)
        where = "/api/packages/preview"
        found: PackagePreview = await self._ask("POST", where, asdict(asked), LONG_SECONDS)
        return found

    async def install_expert(
        self, asked: SourceRequest, digest: str, *, tell: Tell = _nobody
    ) -> dict[str, Any]:
        tell(ASKED)
        body = {**asdict(asked), "digest": digest}
        found: dict[str, Any] = await self._ask("POST", "/api/experts", body, LONG_SECONDS)
        return found

    async def bind_tool(self, name: str, asked: BindRequest) -> None:
        body = {"server": asked.server, "skill": asked.skill, "operations": dict(asked.operations)}
        await self._ask("PUT", _at(name, f"tools/{quote(asked.tool, safe='')}"), body)

    async def unbind_tool(self, name: str, tool: str) -> None:
        await self._ask("DELETE", _at(name, f"tools/{quote(tool, safe='')}"))

    async def enable_expert(self, name: str) -> EnabledDocument:
        found: EnabledDocument = await self._ask("POST", _at(name, "enable"))
        return found

    async def disable_expert(self, name: str) -> None:
        await self._ask("POST", _at(name, "disable"))

    async def preview_update(self, name: str, asked: UpdateRequest, *, tell: Tell = _nobody) -> UpdatePreview:
        tell(ASKED)
        where = _at(name, "update/preview")
        found: UpdatePreview = await self._ask("POST", where, asdict(asked), LONG_SECONDS)
        return found

    async def update_expert(
        self, name: str, asked: UpdateRequest, accepted: AcceptedUpdate, *, tell: Tell = _nobody
    ) -> UpdatePreview:
        tell(ASKED)
        body = {**asdict(asked), **asdict(accepted)}
        found: UpdatePreview = await self._ask("POST", _at(name, "update"), body, LONG_SECONDS)
        return found

    async def remove_expert(self, name: str, *, purge: bool = False) -> None:
        await self._ask("DELETE", _at(name, purge=str(purge).lower()))


def _at(name: str, below: str = "", **asked: object) -> str:
    path = f"/api/experts/{quote(name, safe='')}" + (f"/{below}" if below else "")
    return f"{path}?{urlencode(asked)}" if asked else path
