"""Starting servers to see whether they work, and what they offer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from colleague.mcp.errors import McpError
from colleague.mcp.mcp_tool import McpTool
from colleague.mcp.servers import Servers


@dataclass(frozen=True)
class Probed:
    """One server that was tried; `error` is empty when it answered."""

    name: str
    transport: str
    seconds: float
    tools: tuple[McpTool, ...] = ()
    software: str = ""
    protocol_version: str = ""
    error: str = ""
    hint: str = ""
    findings: tuple[str, ...] = ()
    """What of its tools is cut or left out."""
    changes: tuple[str, ...] = ()
    """What of its tools is not as a person accepted it."""

    @property
    def ok(self) -> bool:
        return not self.error


async def probe(servers: Servers, names: Sequence[str], tell: Callable[[Probed], None]) -> list[Probed]:
    """Tries them all at once; `tell` hears of each as it is done."""

    async def one(name: str) -> Probed:
        probed = await _probe(servers, name)
        tell(probed)
        return probed

    return await asyncio.gather(*map(one, names))


async def _probe(servers: Servers, name: str) -> Probed:
    began = time.monotonic()
    try:
        tools, error = tuple(await servers.tools(name)), None
    except McpError as problem:
        tools, error = (), problem
    status = next((each for each in await servers.status() if each.name == name), None)
    return Probed(
        name=name,
        transport=status.transport if status else "",
        seconds=round(time.monotonic() - began, 2),
        tools=tools,
        software=status.software if status else "",
        protocol_version=status.protocol_version if status else "",
        error=error.message if error else "",
        hint=error.hint if error else "",
        findings=status.findings if status else (),
        changes=status.changes if status else (),
    )
