"""An expert's runtime files: state, scratch and learnings in the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from colleague.files import write_atomic
from colleague.packages.package import Package


@dataclass(frozen=True)
class Workspace:
    """`workspace/expert-state/<name>/`: what the expert reads and writes."""

    root: Path

    @classmethod
    def of(cls, workspace: Path, expert: str) -> Workspace:
        return cls(workspace / "expert-state" / expert)

    @property
    def learnings(self) -> Path:
        return self.root / "learnings"


def initialise_state(package: Package, workspace: Workspace) -> list[str]:
    """Copies the templates whose file does not exist yet; returns their paths. Existing files stay."""
    missing = [item for item in package.state if not (workspace.root / item.path).exists()]
    for item in missing:
        write_atomic(workspace.root / item.path, item.text)
    return [item.path for item in missing]


def start_session(package: Package, workspace: Workspace) -> None:
    """Session files begin anew from their template; persistent ones carry over."""
    initialise_state(package, workspace)
    for item in package.state:
        if item.scope == "session":
            write_atomic(workspace.root / item.path, item.text)
