"""What whoever looks after a home asks of its gateway."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import quote, urlencode

from colleague.audit_document import AuditPage
from colleague.overview_document import DecisionBrief, OverviewDocument
from colleague.person_document import PersonDocument, SignInLink
from colleague.runtime.requests import AuditQuery
from colleague.settings_document import (
    ChannelDocument,
    IdleKey,
    McpServerDocument,
    ModelProbe,
    OfferedModel,
    ServerProbe,
)

PATIENT_SECONDS = 150.0
"""For what starts servers, or asks a model."""


class RemoteAdmin(ABC):
    """Part of `runtime/remote_service.py::RemoteService`."""

    @abstractmethod
    async def _ask(self, method: str, path: str, body: Any = None, seconds: float = ...) -> Any: ...

    async def overview(self, days: int) -> OverviewDocument:
        found: OverviewDocument = await self._ask("GET", f"/api/overview?days={days}")
        return found

    async def decisions(
        self, days: int, from_seconds: int = 0, to_seconds: int | None = None
    ) -> list[DecisionBrief]:
        asked = {"days": days, "from_seconds": from_seconds, "to_seconds": to_seconds}
        given = urlencode({name: value for name, value in asked.items() if value is not None})
        found: list[DecisionBrief] = await self._ask("GET", f"/api/overview/decisions?{given}")
        return found

    async def audit(self, asked: AuditQuery) -> AuditPage:
        given = urlencode({name: value for name, value in asdict(asked).items() if value})
        found: AuditPage = await self._ask("GET", f"/api/audit?{given}")
        return found

    async def people(self) -> list[PersonDocument]:
        found: list[PersonDocument] = await self._ask("GET", "/api/people")
        return found

    async def add_person(self, name: str, role: str, experts: Sequence[str]) -> SignInLink:
        asked = {"name": name, "role": role, "experts": list(experts)}
        made: SignInLink = await self._ask("POST", "/api/people", asked)
        return made

    async def link_person(self, name: str) -> SignInLink:
        made: SignInLink = await self._ask("POST", f"/api/people/{_part(name)}/link", {})
        return made

    async def sign_out_person(self, name: str) -> int:
        return int((await self._ask("POST", f"/api/people/{_part(name)}/sign-out", {}))["browsers"])

    async def remove_person(self, name: str) -> None:
        await self._ask("DELETE", f"/api/people/{_part(name)}")

    async def models(self) -> list[OfferedModel]:
        found: list[OfferedModel] = await self._ask("GET", "/api/models")
        return found

    async def probe_model(self, name: str) -> ModelProbe:
        asked = {"model": name}
        found: ModelProbe = await self._ask("POST", "/api/models/probe", asked, PATIENT_SECONDS)
        return found

    async def mcp_servers(self) -> list[McpServerDocument]:
        found: list[McpServerDocument] = await self._ask("GET", "/api/servers")
        return found

    async def accept_tools(self, name: str, digest: str) -> list[str]:
        path = f"/api/servers/{_part(name)}/accept-tools"
        found: list[str] = await self._ask("POST", path, {"digest": digest})
        return found

    async def probe_server(self, name: str) -> ServerProbe:
        path = f"/api/servers/{_part(name)}/probe"
        found: ServerProbe = await self._ask("POST", path, {}, PATIENT_SECONDS)
        return found

    async def server_log(self, name: str, lines: int = 200) -> list[str]:
        found: list[str] = await self._ask("GET", f"/api/servers/{_part(name)}/log?lines={lines}")
        return found

    async def channels(self) -> list[ChannelDocument]:
        found: list[ChannelDocument] = await self._ask("GET", "/api/channels")
        return found

    async def idle_settings(self) -> list[IdleKey]:
        found: list[IdleKey] = await self._ask("GET", "/api/settings/idle")
        return found


def _part(name: str) -> str:
    return quote(name, safe="")
