"""How a home has done, its people, what it is connected to, and the audit log: on an open database."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from colleague.agent.models.model_list import list_models
from colleague.audit_document import AuditPage
from colleague.config.channel_access import is_channel_on
from colleague.config.status import without_effect
from colleague.errors import ColleagueError, NotFound, UsageError
from colleague.experts.launch_acceptance import launch_entry
from colleague.mcp.log import log_file
from colleague.mcp.probe import Probed, probe
from colleague.mcp.server import ServerStatus
from colleague.mcp.servers import Servers, unknown_server
from colleague.mcp.tool_record import ToolRecord
from colleague.overview_document import DecisionBrief, OverviewDocument
from colleague.person_document import PersonDocument, SignInLink
from colleague.plugins.report import served_channels
from colleague.runtime.audit_intake import take_in_changes
from colleague.runtime.doctor_process import run_doctor
from colleague.runtime.requests import AuditQuery
from colleague.runtime.service_base import ServiceBase
from colleague.settings_document import (
    ChannelDocument,
    DoctorFinding,
    IdleKey,
    McpServerDocument,
    ModelProbe,
    OfferedModel,
    ServerProbe,
)
from colleague.store.audit import AuditFilter, Change
from colleague.store.people import (
    add_person,
    find_person,
    new_link,
    person_documents,
    remove_person,
    require_known,
    sign_out_everywhere,
)
from colleague.store.run_filter import since_ms
from colleague.store.statistics import DAY_MS, overview_document, slow_decisions
from colleague.store.tx import Tx

if TYPE_CHECKING:
    from colleague.runtime.host import Host

PROBE_SECONDS = 60.0
MOST_DECISIONS = 200
MOST_LINES = 1_000


class LocalAdmin(ServiceBase):
    """What whoever looks after the home sees and changes. Every change is in the audit log."""

    async def overview(self, days: int) -> OverviewDocument:
        return await self.database.read(lambda tx: overview_document(tx, days))

    async def decisions(
        self, days: int, from_seconds: int = 0, to_seconds: int | None = None
    ) -> list[DecisionBrief]:
        def work(tx: Tx) -> list[DecisionBrief]:
            since = (tx.now // DAY_MS - days + 1) * DAY_MS
            return slow_decisions(tx, since, from_seconds, to_seconds, MOST_DECISIONS)

        return await self.database.read(work)

    async def audit(self, asked: AuditQuery) -> AuditPage:
        def work(tx: Tx) -> AuditPage:
            times = since_ms(asked.since, tx.now), since_ms(asked.until, tx.now)
            wanted = AuditFilter(asked.who, asked.action, asked.expert, asked.text, *times)
            return wanted.page(tx, limit=asked.limit, after=asked.after)

        await take_in_changes(self.home, self.database)
        return await self.database.read(work)

    async def people(self) -> list[PersonDocument]:
        return await self.database.read(person_documents)

    async def add_person(self, name: str, role: str, experts: Sequence[str]) -> SignInLink:
        def work(tx: Tx) -> str:
            action = "person.change" if find_person(tx, name) else "person.add"
            secret = add_person(tx, name, role, experts)
            self._note(tx, Change(action, name, detail={"role": role, "experts": list(experts)}))
            return secret

        return {"name": name, "path": f"/login/{await self.database.write(work)}"}

    async def link_person(self, name: str) -> SignInLink:
        database = self._audited(Change("person.link", name))
        return {"name": name, "path": f"/login/{await database.write(lambda tx: new_link(tx, name))}"}

    async def sign_out_person(self, name: str) -> int:
        def work(tx: Tx) -> int:
            require_known(tx, name)
            count = sign_out_everywhere(tx, name)
            self._note(tx, Change("person.sign-out", name, detail={"browsers": count}))
            return count

        return await self.database.write(work)

    async def remove_person(self, name: str) -> None:
        database = self._audited(Change("person.remove", name))
        await database.write(lambda tx: remove_person(tx, name))

    async def models(self) -> list[OfferedModel]:
        found = await asyncio.to_thread(list_models, self.settings, self.environ, folder=self.home.root)
        return [
            {
                "name": each.name,
                "default": each.default,
                "origin": each.origin,
                "key": each.key,
                "key_source": each.key_source,
                "api": each.api,
                "context_window": each.context_window,
                "problem": each.problem,
            }
            for each in found
        ]

    async def probe_model(self, name: str) -> ModelProbe:
        from colleague.agent.models.model_probe import probe_model

        began = time.monotonic()
        try:
            model, reply = await probe_model(
                self.settings, self.environ, name, folder=self.home.root, seconds=PROBE_SECONDS
            )
        except ColleagueError as error:
            seconds = round(time.monotonic() - began, 2)
            return _model_probe(name, seconds, error=error.message, hint=error.hint)
        return _model_probe(model.name, round(reply.seconds, 2), answer=reply.text.strip())

    async def mcp_servers(self) -> list[McpServerDocument]:
        return [self._server_document(each) for each in await (await self._servers()).status()]

    def _server_document(self, status: ServerStatus) -> McpServerDocument:
        entry = self.settings.mcp.servers.get(status.name)
        record = self._tool_record(status.name)
        return {
            "name": status.name,
            "transport": status.transport,
            "where": status.where,
            "state": status.state,
            "digest": launch_entry(status.name, entry).digest if entry else "",
            "tools": status.tools,
            "error": status.error,
            "findings": list(status.findings),
            "changes": [{"change": d.change, "lines": list(d.lines)} for d in record.differences()],
            "tools_digest": record.digest(),
        }

    async def accept_tools(self, name: str, digest: str) -> list[str]:
        self._require_server(name)
        record = self._tool_record(name)
        if not record.changes():
            return []
        changes = await asyncio.to_thread(record.accept, digest)
        change = Change("server.accept-tools", name, detail={"changes": list(changes), "digest": digest})
        await self.database.write(lambda tx: self._note(tx, change))
        return list(changes)

    def _tool_record(self, name: str) -> ToolRecord:
        return ToolRecord.of(self.home.state / "mcp", name)

    async def probe_server(self, name: str) -> ServerProbe:
        self._require_server(name)
        [found] = await probe(await self._servers(), [name], lambda _: None)
        return _server_probe(found)

    async def server_log(self, name: str, lines: int = 200) -> list[str]:
        self._require_server(name)
        file = log_file(self.home.logs, name)

        def read() -> list[str]:
            if not file.exists():
                return []
            with file.open(encoding="utf-8", errors="replace") as text:
                return [line.rstrip("\n") for line in deque(text, maxlen=min(lines, MOST_LINES))]

        return await asyncio.to_thread(read)

    async def channels(self) -> list[ChannelDocument]:
        host = await self._any_host()
        names = sorted(host.sender.channels) if host is not None and host.sender is not None else []
        found: list[ChannelDocument] = [_connected(name) for name in names]
        idle = sorted(set(self.settings.channels) - set(names))
        return found + [self._unconnected(name) for name in idle]

    def _unconnected(self, name: str) -> ChannelDocument:
        off = not is_channel_on(self.settings.channels, name)
        about = f"off: channels.{name}.enabled is false" if off else "in the settings; no plugin here has it"
        return {"name": name, "connected": False, "about": about}

    async def idle_settings(self) -> list[IdleKey]:
        found = await asyncio.to_thread(
            lambda: without_effect(self.settings, served_channels(self.home, self.settings))
        )
        return [
            {"key": each.key, "where": str(each.place or ""), "reason": each.reason, "cure": each.cure}
            for each in found
        ]

    async def doctor(self) -> list[DoctorFinding]:
        """What `colleague doctor` finds; takes seconds. Commands ask it themselves."""
        return await run_doctor(self.home, self.environ)

    async def _any_host(self) -> Host | None:
        """The host of this process, whether or not it works on runs here."""
        return self.serving or (await self.host.opened() if self.host else None)

    async def _servers(self) -> Servers:
        host = await self._any_host()
        if host is None:
            raise UsageError("this process works on no runs", hint="ask the gateway of this home")
        return host.servers

    def _require_server(self, name: str) -> None:
        known = self.settings.mcp.servers
        if name not in known:
            error = unknown_server(name, known)
            raise NotFound(error.message, hint=error.hint)


_OWN = {
    "main": "the main session: messages there, and results that wait to be read",
    "web": "conversations on the page",
    "sessions": "what is told to a session",
    "learnings": "writes approved learnings down",
}


def _connected(name: str) -> ChannelDocument:
    return {"name": name, "connected": True, "about": _OWN.get(name, "a plugin")}


def _model_probe(
    model: str, seconds: float, *, answer: str = "", error: str = "", hint: str = ""
) -> ModelProbe:
    return {
        "model": model,
        "ok": not error,
        "seconds": seconds,
        "answer": answer,
        "error": error,
        "hint": hint,
    }


def _server_probe(found: Probed) -> ServerProbe:
    return {
        "name": found.name,
        "ok": found.ok,
        "seconds": found.seconds,
        "tools": [each.name for each in found.tools],
        "error": found.error,
        "hint": found.hint,
    }
