"""How far the tools of a session reach: files outside of its workspace, and other sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from colleague.sandbox.session_sandbox import is_sandboxed, sandbox_settings
from colleague.session_key import SessionKey

if TYPE_CHECKING:
    from colleague.config import Settings

KEY = "tools.fs.workspaceOnly"


def reaches_outside(settings: Settings, session_key: str) -> bool:
    """As `tools.fs.workspaceOnly` says, that of the agent first. A sandbox always keeps them in."""
    if is_sandboxed(settings, session_key):
        return False
    entry = settings.agents.of(SessionKey.parse(session_key).agent_id)
    own = entry.tools.fs if entry is not None else settings.tools.fs
    chosen = own if "workspace_only" in own.model_fields_set else settings.tools.fs
    return not chosen.workspace_only


def reach_note(settings: Settings, session_key: str) -> str:
    """The same in words."""
    if reaches_outside(settings, session_key):
        return (
            f"reaches the whole disk by absolute paths ({KEY} is false), apart from keys, this home and the "
            "workspaces of others; a change outside of the workspace asks first, unless tools.approvals has "
            "a rule for it"
        )
    return f"stays in the {'sandbox' if is_sandboxed(settings, session_key) else f'workspace ({KEY})'}"


def visible_sessions(settings: Settings, session_key: str) -> Literal["self", "tree", "agent", "all"]:
    """As `tools.sessions.visibility` says; in a sandbox only those it spawned, unless
    `sandbox.sessionToolsVisibility` is all."""
    wanted = settings.tools.sessions.visibility
    if wanted == "self" or not is_sandboxed(settings, session_key):
        return wanted
    chosen = sandbox_settings(settings, SessionKey.parse(session_key).agent_id)
    return "tree" if chosen.session_tools_visibility == "spawned" else wanted
