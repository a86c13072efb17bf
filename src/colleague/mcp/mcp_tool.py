"""A tool of an MCP server, as we keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_types import Tool

    from colleague.config.settings import ToolFilter


@dataclass(frozen=True)
class McpTool:
    """One tool as its server describes it. What the server leaves unsaid is taken as the worse case."""

    server: str
    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    read_only: bool
    idempotent: bool
    destructive: bool
    launch_digest: str = ""
    """Of the server that listed it; see launch_digest.py."""
    hinted: bool = False
    """Whether the server says anything about reading or changing."""
    says_changes: bool = False
    """Whether the server itself says that it changes things: not read-only, or destructive."""

    @classmethod
    def read(cls, server: str, tool: Tool, launch_digest: str = "") -> McpTool:
        hints = tool.annotations
        read_only = bool(hints and hints.read_only_hint)
        said = hints.destructive_hint if hints else None
        denied = hints is not None and hints.read_only_hint is False
        return cls(
            server=server,
            name=tool.name,
            title=tool.title or (hints.title if hints else None) or tool.name,
            description=tool.description or "",
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            read_only=read_only,
            idempotent=bool(hints and hints.idempotent_hint),
            destructive=not read_only if said is None else said and not read_only,
            launch_digest=launch_digest,
            hinted=read_only or denied or said is not None,
            says_changes=not read_only and (denied or bool(said)),
        )


def is_used(name: str, rule: ToolFilter) -> bool:
    """Whether the server's filter lets a tool through; an exclusion wins."""
    included = not rule.include or any(fnmatchcase(name, pattern) for pattern in rule.include)
    return included and not any(fnmatchcase(name, pattern) for pattern in rule.exclude)
