"""Whether the names in a policy mean a tool: a name, a name with `*` for any text, or a group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from colleague.agent.models.tool_name import safe_name
from colleague.agent.tool import PLUGIN, ToolSpec
from colleague.config.tool_groups import ALIASES, GROUPS, MCP_GROUP, MCP_READING, NATIVE, PLUGIN_GROUP


@dataclass(frozen=True)
class PolicyTool:
    """A tool as a policy names it: `server.tool`, or `server__tool`, when it is one of an MCP server."""

    name: str
    is_served: bool = False

    @classmethod
    def of(cls, spec: ToolSpec) -> PolicyTool:
        return cls(spec.name, bool(spec.server) and not spec.server.startswith(PLUGIN))


def naming(patterns: Iterable[str], tool: PolicyTool) -> str | None:
    """The first pattern that means the tool."""
    return next((pattern for pattern in patterns if means(pattern, tool)), None)


@lru_cache(maxsize=4096)
def means(pattern: str, tool: PolicyTool) -> bool:
    """Upper and lower case are the same here: a deny is not got round by a letter."""
    wanted = pattern.strip().casefold()
    if wanted == MCP_GROUP:
        return tool.is_served or tool.name in MCP_READING
    if wanted == PLUGIN_GROUP:
        return not tool.is_served and tool.name not in NATIVE
    if wanted in GROUPS:
        return not tool.is_served and tool.name in GROUPS[wanted]
    shape = ALIASES.get(wanted, wanted).replace("[", "[[]").replace("?", "[?]")
    return any(fnmatchcase(name.casefold(), shape) for name in (tool.name, safe_name(tool.name)))
