"""A grant for people: what it covers, whether it counts now, and why not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from colleague.clock import iso
from colleague.errors import ColleagueError
from colleague.experts.bindings import read_bindings
from colleague.experts.expert import find_expert
from colleague.experts.privacy.redactor import private_text
from colleague.experts.runs.schema_compare import server_tool_name
from colleague.main_names import MAIN_AGENT
from colleague.mcp.launch_digest import launch_digest
from colleague.packages.finding import Findings
from colleague.store.grants import Grant

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home

GONE = "it cannot be said what the operation is bound to now"


@dataclass
class GrantReports:
    """Makes the documents of grants. Reads files, and starts no server: a changed schema is noticed when the
    tool is called."""

    home: Home
    settings: Settings
    environ: Mapping[str, str]
    now_ms: int
    ended_runs: frozenset[str] = frozenset()
    _packages: dict[str, str] = field(default_factory=dict)

    def document(self, grant: Grant) -> dict[str, Any]:
        state, reason = self._state(grant)
        times = {name: iso(getattr(grant, name)) for name in ("created_at", "expires_at", "revoked_at")}
        document = asdict(grant) | times | {"only": json.loads(grant.only_arguments)}
        for inner in ("only_arguments", "lapsed"):
            del document[inner]
        document |= {"state": state, "reason": reason, "covers": covers_text(grant)}
        private = private_text(self.home.snapshots, grant.package_digest or "")
        shown: dict[str, Any] = private.redact_document(document) if private else document
        return shown

    def _state(self, grant: Grant) -> tuple[str, str]:
        if grant.revoked_at is not None:
            return "revoked", "it was revoked"
        if grant.expires_at is not None and grant.expires_at <= self.now_ms:
            return "expired", "its time is over"
        if grant.run_id in self.ended_runs:
            return "ended", "its run has ended"
        try:
            reason = grant.lapse(self._target_now(grant))
        except ColleagueError as error:
            reason = f"{GONE}: {error.message}"
        reason = reason or grant.lapsed or ""
        return ("lapsed", reason) if reason else ("live", "")

    def _target_now(self, grant: Grant) -> dict[str, str]:
        """The parts that can be known without a server. A run keeps its package, so that is not compared."""
        tool, _, operation = grant.operation.partition(".")
        if grant.expert == MAIN_AGENT:
            found = {"server": grant.server or "", "tool": grant.tool or ""}
        else:
            found = self._bound(grant.expert, tool, operation)
            if grant.run_id is None:
                found["package_digest"] = self._package_digest(grant.expert)
        entry = self.settings.mcp.servers.get(found["server"])
        launch = launch_digest(entry, self.environ) if entry else ""
        return found | {"launch_digest": launch}

    def _bound(self, expert: str, tool: str, operation: str) -> dict[str, str]:
        bindings = read_bindings(find_expert(self.home, expert).bindings_file, Findings())
        binding = bindings.tools.get(tool)
        if binding is None:
            return {"server": "nothing", "tool": operation}
        return {"server": binding.server, "tool": server_tool_name(binding, operation)}

    def _package_digest(self, expert: str) -> str:
        if expert not in self._packages:
            self._packages[expert] = find_expert(self.home, expert).load().digest
        return self._packages[expert]


def covers_text(grant: Grant) -> str:
    """One sentence: which calls are made without a question, and until when."""
    wanted = json.loads(grant.only_arguments)
    only = " and ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in wanted.items())
    where = f" on the server {grant.server}, tool {grant.tool}" if grant.server else ""
    arguments = f"only with {only}" if only else "with any arguments"
    until = f"until {iso(grant.expires_at)}" if grant.expires_at is not None else "until it is revoked"
    time = "in its run" if grant.run_id else f"in any run, {until}"
    return f"{grant.operation} of {grant.expert}{where}; {arguments}; {time}"
