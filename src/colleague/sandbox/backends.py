"""Which backend confines the sessions of an agent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from colleague.sandbox.bubblewrap import Bubblewrap
from colleague.sandbox.docker import Docker
from colleague.sandbox.session_sandbox import sandbox_settings

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home
    from colleague.sandbox.backend import SandboxBackend


def backend_of(
    home: Home, settings: Settings, agent_id: str, environ: Mapping[str, str], *, owner: str = ""
) -> SandboxBackend:
    """`owner` names the process that starts containers."""
    chosen = sandbox_settings(settings, agent_id)
    if chosen.backend != "docker":
        return Bubblewrap()
    return Docker(chosen.docker, environ, owner, hashlib.sha256(str(home.root).encode()).hexdigest()[:16])


def sandboxing_agents(settings: Settings) -> list[str]:
    """The ids of the agents that have sandboxed sessions."""
    known = dict.fromkeys(["main", *(each.id for each in settings.agents.all)])
    return [each for each in known if sandbox_settings(settings, each).mode != "off"]


def docker_backends(home: Home, settings: Settings, environ: Mapping[str, str]) -> list[Docker]:
    """Those in use, each once."""
    found = [backend_of(home, settings, each, environ) for each in sandboxing_agents(settings)]
    return [each for each in found if isinstance(each, Docker)][:1]
