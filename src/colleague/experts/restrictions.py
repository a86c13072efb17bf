"""What the experts of a home withhold from the main agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from colleague.agent.restrictions import DraftOnly, NothingDrafted
from colleague.config import Settings
from colleague.experts.expert import linked_folders
from colleague.experts.experts_md import FILE as EXPERTS_FILE
from colleague.experts.manual_operations import manual_operations
from colleague.experts.workspace.workspace import Workspace
from colleague.home import Home


@dataclass(frozen=True)
class ExpertRestrictions:
    """Read from the home each time, so that what is installed or bound now counts."""

    home: Home
    settings: Settings

    def read_only_folders(self) -> Sequence[Path]:
        """A linked package lies anywhere, perhaps in the workspace; only its author changes it."""
        return linked_folders(self.home)

    def closed_paths(self) -> Sequence[Path]:
        """The state and learnings of the experts, and the list of experts that the prompt is made with."""
        workspace = self.settings.workspace
        return [Workspace.of(workspace, "").root, workspace / EXPERTS_FILE]

    def draft_only(self) -> DraftOnly:
        if self.settings.experts.main_agent_manual == "confirm":
            return NothingDrafted()
        return manual_operations(self.home)
