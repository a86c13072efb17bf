"""How a call can end without an answer: surely not sent, or nobody knows."""

from __future__ import annotations

from colleague.errors import ColleagueError


class McpError(ColleagueError):
    """Something about an MCP server, named in `server`."""

    def __init__(self, message: str, *, server: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.server = server


class CallNotSent(McpError):
    """The call never reached the server, or the server refused to take it: nothing happened."""


class ServerDown(CallNotSent):
    """The server is not there: it is unknown, disabled, stopped, or cannot be started or reached."""


class LoginNeeded(ServerDown):
    """A person has to log in at the server first; nothing else helps."""


class UnknownTool(CallNotSent):
    """The server has no such tool, or its filter hides it."""


class Unknown(McpError):
    """The call was sent and no answer came: it may have happened, and must not be repeated blindly."""
