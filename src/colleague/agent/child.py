"""A call that is a session of its own inside the run. It is continued after anything, never asked about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol, cast

from colleague.agent.conversation import Result
from colleague.agent.exits import Completed, Failed
from colleague.agent.tool import Tool
from colleague.store.journal import SESSION, Call

if TYPE_CHECKING:
    from colleague.agent.run_spec import Setting
    from colleague.agent.session import Scene


class SessionTool(Tool, Protocol):
    """A tool whose call is a child session; its spec has `server_tool` SESSION."""

    async def setting(self, arguments: dict[str, Any]) -> Setting: ...


def is_session(tool: Tool) -> bool:
    return tool.spec.server_tool == SESSION


async def converse_as(scene: Scene, call: Call, tool: Tool) -> Result:
    """Goes on with the child session until it has its outputs. Raises Waiting or Failed as its run does."""
    from colleague.agent.converse import converse  # the loop acts, and acting may loop

    setting = await cast(SessionTool, tool).setting(json.loads(call.arguments))
    try:
        await converse(scene.child(call, setting))
    except Completed as ending:
        outputs = ending.outputs
        text = ending.text if outputs is None else json.dumps(outputs, ensure_ascii=False)
        return Result(text, call.operation)
    except Failed as ending:
        raise Failed(f"{call.operation}: {ending.error}", retry=ending.retry) from None
    raise AssertionError("a conversation ends with an Ending")
