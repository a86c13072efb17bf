"""What file tools never touch outside of the workspace, where they may leave it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import colleague
from colleague.agent.tools.fence import Fence
from colleague.config import Settings
from colleague.home import Home
from colleague.main_names import MAIN_AGENT
from colleague.sandbox.session_sandbox import sandbox_settings, sandboxes

_OF_THE_SYSTEM = (
    *("/proc", "/sys", "/run/secrets", "/var/run/secrets"),
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private"),
)
"""Processes with their environment, and keys that root can read. Devices are no plain files."""

_OF_THE_USER = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".netrc", ".pgpass"),
    *(".git-credentials", ".npmrc", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".m2"),
    *(".config/gcloud", ".config/gh", ".config/hub", ".config/rclone", ".config/op", ".vault-token"),
    *(".local/share/keyrings", ".local/share/kwalletd", "Library/Keychains", ".openclaw"),
    *(".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
)
"""Keys, tokens and profiles of browsers, in the user's home folder."""


def outside_fence(others: Sequence[Path] = ()) -> Fence:
    """Closes keys, and the folders of other agents and of sandboxes; our own code is only read."""
    user = Path.home()
    keys = [*map(Path, _OF_THE_SYSTEM), *(user / each for each in _OF_THE_USER)]
    return Fence([*keys, *others], [Path(colleague.__file__).parent])


def folders_of_agents(home: Home, settings: Settings) -> list[Path]:
    """The workspaces of all agents, and where their sandboxes keep files. Takes the settings of the home."""
    agents = dict.fromkeys([MAIN_AGENT, *(each.id for each in settings.agents.all)])
    workspaces = [settings.for_agent(each).workspace for each in agents]
    return [*workspaces, *(sandboxes(home, sandbox_settings(settings, each)) for each in agents)]
