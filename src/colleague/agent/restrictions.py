"""What the rest of a home withholds from the main agent, which knows nothing of experts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class DraftOnly(Protocol):
    """Tools that the agent may only prepare a call of."""

    def reason(self, server: str, tool: str) -> str:
        """Why this tool of this server is only drafted; empty when it is not."""
        ...


class NothingDrafted:
    def reason(self, server: str, tool: str) -> str:  # noqa: ARG002 - others look
        return ""


class Restrictions(Protocol):
    """Asked each time a run of the main agent is advanced."""

    def read_only_folders(self) -> Sequence[Path]:
        """Folders that the agent may read and never change."""
        ...

    def closed_paths(self) -> Sequence[Path]:
        """Files and folders in the workspace that belong to somebody else."""
        ...

    def draft_only(self) -> DraftOnly: ...


class NoRestrictions:
    """For an agent that is alone in its home."""

    def read_only_folders(self) -> Sequence[Path]:
        return ()

    def closed_paths(self) -> Sequence[Path]:
        return ()

    def draft_only(self) -> DraftOnly:
        return NothingDrafted()
