"""How a call ended: stored, and told to whoever listens."""

from __future__ import annotations

from typing import Any

from colleague.agent.call_result import Result
from colleague.agent.hook_points import tell_call_made
from colleague.agent.session import Session
from colleague.store import journal
from colleague.store.journal import Call


async def end_call(
    session: Session, call: Call, status: journal.CallStatus, result: Result, *, error: bool = False
) -> None:
    hold = session.conversation.hold
    text = result.to_json()
    await session.conversation.write(
        lambda tx: journal.settle_call(tx, hold, call.id, status, text, is_error=error)
    )
    tell_end(session, call, status, result.text, error)


def tell_start(session: Session, call: Call, arguments: dict[str, Any]) -> None:
    session.tell("tool_execution_start", call_id=call.id, operation=call.operation, arguments=arguments)


def tell_end(session: Session, call: Call, status: journal.CallStatus, text: str, error: bool) -> None:
    session.tell(
        "tool_execution_end",
        call_id=call.id,
        operation=call.operation,
        status=status,
        result=text,
        is_error=error,
    )
    if status == "finished":
        tell_call_made(session, call, text, is_error=error)
