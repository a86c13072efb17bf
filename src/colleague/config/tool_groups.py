"""The names that policies use for several tools at once: groups and profiles."""

from __future__ import annotations

from collections.abc import Mapping

from colleague.config.section import Names
from colleague.suggest import did_you_mean

MCP_GROUP, PLUGIN_GROUP = "group:mcp", "group:plugins"
"""Every tool of `mcp.servers`, and every tool that a plugin adds. They have no lists: others say what is in
them."""
NATIVE_GROUP = "group:openclaw"

_BY_SUBJECT: Mapping[str, Names] = {
    "group:fs": ("read", "write", "edit", "apply_patch", "grep", "find", "ls"),
    "group:runtime": ("exec", "process"),
    "group:sessions": (
        *("sessions_list", "sessions_history", "sessions_send", "sessions_spawn"),
        *("subagents", "session_status"),
    ),
    "group:memory": ("memory_search", "memory_get"),
    "group:web": ("web_search", "web_fetch"),
    "group:ui": ("browser", "canvas"),
    "group:automation": ("cron", "gateway"),
    "group:messaging": ("message",),
    "group:nodes": ("nodes",),
}
MCP_READING = ("mcp_resources", "mcp_prompts")
"""Tools of our own that only read what MCP servers offer; they are in the group of those."""
_IN_NO_SUBJECT = (*MCP_READING, "agents_list", "proposals", "image", "tts", "whatsapp_login")
NATIVE: Names = (*(tool for tools in _BY_SUBJECT.values() for tool in tools), *_IN_NO_SUBJECT)
"""Every tool of our own, also where a home or a session does not have it."""
GROUPS: Mapping[str, Names] = {**_BY_SUBJECT, NATIVE_GROUP: NATIVE}

PROFILES: Mapping[str, Names] = {
    "minimal": ("session_status",),
    "coding": ("group:fs", "group:runtime", "group:sessions", "group:memory", MCP_GROUP, "image"),
    "messaging": ("group:messaging", "group:sessions", "group:memory", MCP_GROUP),
    "full": ("*",),
}
OPT_IN: Names = ("message",)
"""Where no profile is set, these have to be named: `allow` or `alsoAllow` does it."""

ALLOWED_WITH: Mapping[str, str] = {"apply_patch": "exec"}
"""Allowing the second allows the first."""
DENIED_WITH: Mapping[str, str] = {"process": "exec"}
"""Denying the second denies the first."""
ALIASES: Mapping[str, str] = {"bash": "exec", "apply-patch": "apply_patch"}
"""Other words for a tool in the settings."""


def check_groups(patterns: Names) -> Names:
    """Raises ValueError for a group there is not: what is denied by it would be allowed."""
    known = (*GROUPS, MCP_GROUP, PLUGIN_GROUP)
    for pattern in patterns:
        name = pattern.strip().casefold()
        if name.startswith("group:") and name not in known:
            near = did_you_mean(name, known) or f"there are: {', '.join(known)}"
            raise ValueError(f"there is no group {pattern!r}; {near}")
    return patterns
