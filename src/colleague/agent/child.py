"""A call that is a session of its own inside the run. It is continued after anything, never asked about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol, cast

from colleague.agent.conversation import Result
from colleague.agent.exits import Completed, Failed
from colleague.agent.tool import Tool
from colleague.store.journal import SESSION, Call

if TYPE_CHECKING:
    from colleague.agent.run_spec import RunSpec
    from colleague.agent.session import Session


class SessionTool(Tool, Protocol):
    """A tool whose call is a child session; its spec has `server_tool` SESSION."""

    async def run_spec(self, arguments: dict[str, Any]) -> RunSpec: ...


def is_session(tool: Tool) -> bool:
    return tool.spec.server_tool == SESSION


async def converse_as(session: Session, call: Call, tool: Tool) -> Result:
    """Goes on with the child session until it has its outputs. Raises Waiting or Failed as its run does."""
    from colleague.agent.converse import converse  # the loop acts, and acting may loop

    run_spec = await cast(SessionTool, tool).run_spec(json.loads(call.arguments))
    try:
        await converse(session.child(call, run_spec))
    except Completed as ending:
        outputs = ending.outputs
        text = ending.text if outputs is None else json.dumps(outputs, ensure_ascii=False)
        return Result(text, call.operation)
    except Failed as ending:
        raise Failed(f"{call.operation}: {ending.error}", retry=ending.retry) from None
    raise AssertionError("a conversation ends with a LoopExit")
