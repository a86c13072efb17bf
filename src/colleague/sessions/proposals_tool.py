"""The tool with which an agent sees what waits for a person in its session, and takes a proposal back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from colleague.agent.tool import Tool, ToolOutput, ToolRequest, ToolSpec, refused
from colleague.agent.tools.arguments import Arguments, parameters, text
from colleague.clock import iso
from colleague.config import Settings
from colleague.errors import ColleagueError, NotFound, UsageError
from colleague.store.approvals import Approval
from colleague.store.ids import short
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry
from colleague.store.tx import Database, Tx
from colleague.store.withdrawal import WITHDRAWABLE, open_proposals, withdraw

ACTIONS = ("list", "withdraw")
BY_AGENT = "the agent"


@dataclass(frozen=True)
class ProposalTools:
    """Gives `proposals` to every session."""

    database: Database

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:  # noqa: ARG002
        return (ProposalsTool(self.database, entry.key),)


@dataclass(frozen=True)
class ProposalsTool:
    """`proposals`: calls of this session that wait for a person's yes, and drafts."""

    database: Database
    session_key: str

    spec = ToolSpec(
        name="proposals",
        description=(
            "What you proposed in this conversation and a person has not decided about yet. Use list when "
            "you are asked what is waiting, or before you propose something again; use withdraw with its id "
            "when a proposal is no longer right, or the person says to drop it. You cannot approve anything."
        ),
        parameters=parameters(
            "action",
            action={"type": "string", "enum": list(ACTIONS), "description": "list or withdraw"},
            id=text("For withdraw: the approval, as list shows it"),
            reason=text("For withdraw: why, in a few words"),
        ),
        repeatable=True,
        told=True,
    )

    async def call(self, request: ToolRequest) -> ToolOutput:
        try:
            arguments = Arguments.of(self.spec, request.arguments)
            return ToolOutput(await self.database.write(lambda tx: self._act(tx, arguments)))
        except ColleagueError as error:
            return refused(error)

    def _act(self, tx: Tx, arguments: Arguments) -> str:
        action = arguments.text("action")
        if action not in ACTIONS:
            raise UsageError(f"there is no action {action!r}", hint=f"one of: {', '.join(ACTIONS)}")
        waiting = open_proposals(tx, self.session_key)
        if action == "list":
            return _listed(waiting)
        found = _find(waiting, arguments.text("id"))
        if found.kind not in WITHDRAWABLE:
            raise UsageError(
                f"approval {short(found.id)} is no proposal: it asks what came of {found.operation}"
            )
        reason = arguments.text("reason", "").strip()
        withdraw(tx, found.id, BY_AGENT, f"withdrawn by the agent{f': {reason}' if reason else ''}")
        return f"Withdrawn: {found.operation} will not run (approval {short(found.id)})."


def _find(waiting: Sequence[Approval], ending: str) -> Approval:
    wanted = ending.strip()
    found = [each for each in waiting if len(wanted) >= 4 and each.id.endswith(wanted)]
    if len(found) != 1:
        known = ", ".join(short(each.id) for each in waiting) or "none"
        raise NotFound(
            f"nothing that waits in this session has the id {ending!r}", hint=f"there are: {known}"
        )
    return found[0]


def _listed(waiting: Sequence[Approval]) -> str:
    if not waiting:
        return "Nothing waits for a person in this session."
    return json.dumps([_line(each) for each in waiting], ensure_ascii=False, indent=1)


def _line(approval: Approval) -> dict[str, Any]:
    return {
        "id": short(approval.id),
        "kind": approval.kind,
        "operation": approval.operation,
        "arguments": json.loads(approval.arguments),
        "asked_at": iso(approval.requested_at),
        "expires_at": iso(approval.expires_at),
    }
