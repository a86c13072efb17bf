"""The operations of the office as MCP tools. Their schemas come from the type hints of the functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

from office import crm, diary, mail, mail_history, tickets
from office.faults import Faults
from office.ledger import Request, Result, perform
from office.store import Store

Operation = Callable[..., Any]
IDEMPOTENCY_KEY = "colleague/idempotency-key"
READS = ToolAnnotations(read_only_hint=True)
CHANGES = ToolAnnotations(read_only_hint=False, idempotent_hint=False)
CHANGES_ONCE = ToolAnnotations(read_only_hint=False, idempotent_hint=True)
OPERATIONS: dict[Operation, ToolAnnotations] = {
    crm.get_contact: READS,
    crm.get_deal: READS,
    crm.list_deals: READS,
    crm.update_deal_stage: CHANGES_ONCE,
    crm.create_note: CHANGES,
    mail.get_email: READS,
    mail_history.list_history: READS,
    mail_history.list_messages: READS,
    mail.send: CHANGES,
    diary.find_free_slots: READS,
    diary.schedule_meeting: CHANGES,
    tickets.get_ticket: READS,
    tickets.list_tickets: READS,
    tickets.add_reply: CHANGES,
    tickets.refund: CHANGES,
    tickets.close_ticket: CHANGES_ONCE,
}


@dataclass(frozen=True)
class Office:
    """A store and how to behave. `honour_keys`: a repeated idempotency key makes no second effect."""

    store: Store
    faults: Faults = field(default_factory=Faults)
    honour_keys: bool = True

    def server(self) -> MCPServer:
        server = MCPServer("office", version="0.1.0", log_level="ERROR")
        for operation, hints in OPERATIONS.items():
            server.tool(annotations=hints)(self._tool(operation, hints))
        return server

    def _tool(self, operation: Operation, hints: ToolAnnotations) -> Operation:
        name = operation.__name__

        async def tool(ctx: Context, **arguments: Any) -> Result:
            call = Request(name, arguments, _key(ctx))
            run = self._read if hints.read_only_hint else self._change
            result = await anyio.to_thread.run_sync(run, operation, call)
            await anyio.sleep(self.faults.slow.get(name, 0))
            return result

        return _signed(tool, operation)

    def _read(self, operation: Operation, call: Request) -> Result:
        self.faults.check(self.store, call.operation)
        with self.store.transaction() as db:
            return operation(db, **call.arguments)  # type: ignore[no-any-return]

    def _change(self, operation: Operation, call: Request) -> Result:
        self.faults.check(self.store, call.operation)
        with self.store.transaction() as db:
            return perform(db, call, lambda: operation(db, **call.arguments), honour=self.honour_keys)


def _key(ctx: Context) -> str | None:
    key = (ctx.request_context.meta or {}).get(IDEMPOTENCY_KEY)
    return str(key) if key else None


def _signed(tool: Operation, operation: Operation) -> Operation:
    """The tool with the name, words and parameters of the operation; its database becomes the context."""
    signature = inspect.signature(operation, eval_str=True)
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in signature.parameters.values()][1:]
    tool.__name__, tool.__doc__ = operation.__name__, operation.__doc__
    tool.__signature__ = signature.replace(parameters=[context, *own])  # type: ignore[attr-defined]
    return tool
