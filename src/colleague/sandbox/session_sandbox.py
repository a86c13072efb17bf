"""The sandbox of a session: whether it has one, whose it is, and which folder it works in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from colleague.session_key import SessionKey

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.config.sandbox import Sandbox
    from colleague.home import Home


@dataclass(frozen=True)
class SessionSandbox:
    """What one sandboxed session works in. `folder` is on the disk; inside it is called /workspace."""

    name: str
    folder: Path
    access: Literal["none", "ro", "rw"]
    reason: str
    network: bool = False
    memory_mb: int = 2048
    file_mb: int = 1024
    tmp_mb: int = 256
    disk_mb: int = 4096

    @property
    def has_own_folder(self) -> bool:
        return self.access == "none"

    @property
    def is_writable(self) -> bool:
        return self.access != "ro"


def sandbox_settings(settings: Settings, agent_id: str) -> Sandbox:
    """`agents.defaults.sandbox`, with what one agent has of its own laid over it."""
    shared = settings.agents.defaults.sandbox
    entry = settings.agents.find(agent_id)
    own = entry.sandbox if entry is not None else None
    if own is None:
        return shared
    return shared.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})


def is_sandboxed(settings: Settings, session_key: str) -> bool:
    key = SessionKey.parse(session_key)
    mode = sandbox_settings(settings, key.agent_id).mode
    return mode == "all" or (mode == "non-main" and not key.is_main)


def sandbox_of(home: Home, settings: Settings, session_key: str) -> SessionSandbox | None:
    """None for a session that runs without one."""
    if not is_sandboxed(settings, session_key):
        return None
    key = SessionKey.parse(session_key)
    chosen = sandbox_settings(settings, key.agent_id)
    name = _name(chosen.scope, session_key, key.agent_id)
    folder = sandboxes(home, chosen) / name if chosen.workspace_access == "none" else settings.workspace
    return SessionSandbox(
        name=name,
        folder=folder,
        access=chosen.workspace_access,
        reason=f"sandbox.mode is {chosen.mode}",
        network=chosen.network,
        memory_mb=chosen.memory_mb,
        file_mb=chosen.file_mb,
        tmp_mb=chosen.tmp_mb,
        disk_mb=chosen.disk_mb,
    )


def sandboxes(home: Home, chosen: Sandbox) -> Path:
    """Where sandboxes keep files of their own."""
    return Path(chosen.workspace_root).expanduser() if chosen.workspace_root else home.state / "sandboxes"


def _name(scope: str, session_key: str, agent_id: str) -> str:
    if scope == "shared":
        return "shared"
    if scope == "agent":
        return f"agent-{agent_id}"
    return f"session-{hashlib.sha256(session_key.encode()).hexdigest()[:16]}"
