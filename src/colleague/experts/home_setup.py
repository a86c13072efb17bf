"""Making a home."""

from __future__ import annotations

from colleague.agent.prompt.bootstrap_templates import write_bootstrap_files
from colleague.config import default_settings_text, load_settings
from colleague.experts.experts_md import write_catalogue
from colleague.files import private_folder, write_atomic
from colleague.home import Home


def set_up_home(home: Home) -> list[str]:
    """Makes what is missing of a home; returns the paths it made."""
    made: list[str] = []
    if not home.root.exists():
        home.root.mkdir(parents=True, mode=0o700)
        made.append(str(home.root))
    if not home.settings_file.exists():
        write_atomic(home.settings_file, default_settings_text(), mode=0o600)
        made.append(str(home.settings_file))
    settings = load_settings(home)
    workspace = settings.workspace
    for folder in (home.experts, workspace, home.skills, home.logs, home.state):
        if not folder.exists():
            private_folder(folder)
            made.append(str(folder))
    if not settings.agents.defaults.skip_bootstrap:
        made += map(str, write_bootstrap_files(workspace))
    with home.changing_experts():
        write_catalogue(home, workspace)
    return made
