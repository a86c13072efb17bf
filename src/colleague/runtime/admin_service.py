"""What whoever looks after a home can see and have done: its figures, people, connections, the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

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


class AdminService(Protocol):
    """The part of `runtime/service.py::Service` that the overview and the settings of the page use."""

    async def overview(self, days: int) -> OverviewDocument:
        """How the last days went, today with them."""
        ...

    async def decisions(
        self, days: int, from_seconds: int = 0, to_seconds: int | None = None
    ) -> list[DecisionBrief]:
        """Decisions of the last days for which people took so long; the latest first, 200 at most."""
        ...

    async def audit(self, asked: AuditQuery) -> AuditPage:
        """What people decided and changed, the newest first."""
        ...

    async def people(self) -> list[PersonDocument]:
        """Those who may use the page, by name."""
        ...

    async def add_person(self, name: str, role: str, experts: Sequence[str]) -> SignInLink:
        """Adds somebody, or changes their role. An approver may be limited to experts."""
        ...

    async def link_person(self, name: str) -> SignInLink:
        """Another link to sign in once."""
        ...

    async def sign_out_person(self, name: str) -> int:
        """Signs somebody out everywhere; of how many browsers. `operator` is whoever has the token."""
        ...

    async def remove_person(self, name: str) -> None:
        """What they decided keeps their name; their browsers are signed out."""
        ...

    async def models(self) -> list[OfferedModel]:
        """The configured and the built-in models, and which of them have a key."""
        ...

    async def probe_model(self, name: str) -> ModelProbe:
        """Sends one tiny request. What goes wrong is in the answer."""
        ...

    async def mcp_servers(self) -> list[McpServerDocument]:
        """The configured servers, as the process that works on runs has them."""
        ...

    async def accept_tools(self, name: str, digest: str) -> list[str]:
        """Its tools are known as they were listed last, if that list has this digest; what changed."""
        ...

    async def probe_server(self, name: str) -> ServerProbe:
        """Starts a server, unless it is up, and lists its tools. What goes wrong is in the answer."""
        ...

    async def server_log(self, name: str, lines: int = 200) -> list[str]:
        """The last lines that a server wrote on stderr, or logged over the protocol."""
        ...

    async def channels(self) -> list[ChannelDocument]:
        """Where results can be sent to, and what the settings name without anything connecting to it."""
        ...

    async def idle_settings(self) -> list[IdleKey]:
        """Keys that are set and have no effect."""
        ...
