"""How a listener says what it wants of the events of a run or a session."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from colleague.event_subscription import BlockStreaming
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.streams import EventStreamOptions
from colleague.run_document import ReasoningMode, VerboseLevel

_REASONING = "What is told of what the model thinks: nothing, all at the end of a message, or as it comes"
_VERBOSE = "What is told of tool calls: only what went wrong or waits, each call, or their results too"
_BLOCKS = "Whether answers come in blocks, too; as agents.defaults.blockStreamingDefault says when not given"


def stream_options(
    gateway: GatewayDep,
    reasoning: Annotated[ReasoningMode, Query(description=_REASONING)] = "stream",
    verbose: Annotated[VerboseLevel, Query(description=_VERBOSE)] = "full",
    blocks: Annotated[bool | None, Query(description=_BLOCKS)] = None,
) -> EventStreamOptions:
    """What a listener asks for."""
    defaults = gateway.live.settings.agents.defaults
    wanted = defaults.block_streaming_default == "on" if blocks is None else blocks
    return EventStreamOptions(reasoning, verbose, BlockStreaming.of(defaults) if wanted else None)


StreamDep = Annotated[EventStreamOptions, Depends(stream_options)]
