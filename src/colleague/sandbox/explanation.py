"""What a session may touch, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from colleague.sandbox.backend import INSIDE
from colleague.sandbox.backends import backend_of
from colleague.sandbox.reach import reaches_outside, visible_sessions
from colleague.sandbox.session_sandbox import sandbox_of, sandbox_settings
from colleague.session_key import SessionKey

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home


class SandboxDocument(TypedDict):
    """The answer of `colleague sandbox explain`. Without a sandbox, what only one has is null."""

    session: str
    sandboxed: bool
    reason: str
    backend: str | None
    problem: str | None
    cure: str | None
    workspace_access: str | None
    folder: str
    files_outside: bool
    """Whether the file tools reach more than the folder."""
    sessions: str
    """Which sessions the session tools see: self, tree, agent or all."""
    inside: str | None
    network: bool
    memory_mb: int | None
    file_mb: int | None
    tmp_mb: int | None
    disk_mb: int | None


def explain_sandbox(
    home: Home, settings: Settings, session_key: str, environ: Mapping[str, str]
) -> SandboxDocument:
    agent_id = SessionKey.parse(session_key).agent_id
    settings = settings.for_agent(agent_id)
    found = sandbox_of(home, settings, session_key)
    if found is None:
        mode = sandbox_settings(settings, agent_id).mode
        why = "and this is the main session" if mode == "non-main" else "so its commands are not confined"
        reason = f"sandbox.mode is {mode}, {why}"
        return _document(settings, session_key, reason, folder=str(settings.workspace))
    backend = backend_of(home, settings, agent_id, environ)
    return {
        **_document(settings, session_key, found.reason, folder=str(found.folder)),
        "sandboxed": True,
        "backend": backend.name,
        "problem": (problem := backend.problem()) or None,
        "cure": backend.cure if problem else None,
        "workspace_access": found.access,
        "inside": INSIDE,
        "network": found.network,
        "memory_mb": found.memory_mb,
        "file_mb": found.file_mb,
        "tmp_mb": found.tmp_mb,
        "disk_mb": found.disk_mb if found.has_own_folder else None,
    }


def _document(settings: Settings, session: str, reason: str, *, folder: str) -> SandboxDocument:
    return {
        "session": session,
        "sandboxed": False,
        "reason": reason,
        "backend": None,
        "problem": None,
        "cure": None,
        "workspace_access": None,
        "folder": folder,
        "files_outside": reaches_outside(settings, session),
        "sessions": visible_sessions(settings, session),
        "inside": None,
        "network": True,
        "memory_mb": None,
        "file_mb": None,
        "tmp_mb": None,
        "disk_mb": None,
    }
