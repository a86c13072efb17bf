"""The tools a server lists, asked for once and again when the server says they changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from colleague.mcp.mcp_tool import McpTool

if TYPE_CHECKING:
    from mcp.client import Client

_MOST_PAGES = 100
_LISTEN_AGAIN_SECONDS = 5.0


class ToolList:
    """The tools of one connection."""

    def __init__(self, server: str, client: Client, launch_digest: str = "") -> None:
        self._server, self._client, self._launch_digest = server, client, launch_digest
        self._version = 0
        self._asking = asyncio.Lock()
        self.known: tuple[McpTool, ...] | None = None

    def forget(self) -> None:
        """They changed; the next who wants them asks again."""
        self.known = None
        self._version += 1

    async def get(self, seconds: float) -> tuple[McpTool, ...]:
        """Raises TimeoutError, or the library's MCPError when the connection ends."""
        async with asyncio.timeout(seconds), self._asking:
            if self.known is not None:
                return self.known
            version, tools = self._version, await self._ask()
            if version == self._version:
                self.known = tools
            return tools

    async def _ask(self) -> tuple[McpTool, ...]:
        tools: dict[str, McpTool] = {}
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            tools |= {each.name: McpTool.read(self._server, each, self._launch_digest) for each in page.tools}
            if not page.next_cursor or page.next_cursor == cursor:
                break
            cursor = page.next_cursor
        return tuple(tools.values())

    async def follow_changes(self) -> None:
        """Listens where changes must be asked for (2026-07-28); older servers tell them unasked."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        offered = self._client.server_capabilities.tools
        while offered and offered.list_changed:
            try:
                async with self._client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self.forget()
            except SubscriptionLost:
                self.forget()
            except (ListenNotSupportedError, MCPError):
                return
            await asyncio.sleep(_LISTEN_AGAIN_SECONDS)
