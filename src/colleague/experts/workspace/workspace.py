"""An expert's runtime files: state, scratch and learnings in the workspace."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from colleague.files import private_folder, write_atomic
from colleague.packages.package import Package


@dataclass(frozen=True)
class Workspace:
    """`workspace/expert-state/<name>/`: what the expert reads and writes."""

    root: Path

    @classmethod
    def of(cls, workspace: Path, expert: str) -> Workspace:
        return cls(workspace / "expert-state" / expert)

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    @property
    def learnings(self) -> Path:
        return self.root / "learnings"

    @property
    def sessions(self) -> Path:
        """`sessions/<run id>/` holds the session files of one run."""
        return self.root / "sessions"

    def copy_from(self, other: Workspace) -> None:
        """Makes this a copy of another workspace, unless it was made before. Links are left out."""
        if self.root.exists():
            return
        stage = self.root.with_name(f".{self.root.name}.new")
        shutil.rmtree(stage, ignore_errors=True)
        for folder in (other.state, other.scratch, other.learnings):
            _copy(folder, stage / folder.name)
        stage.rename(self.root)

    def remove(self) -> None:
        """Removes all of it; fine when it is gone already."""
        _remove(self.root)


def initialise_state(package: Package, workspace: Workspace) -> list[str]:
    """Copies the templates whose file does not exist yet; returns their paths. Existing files stay."""
    missing = [item for item in package.state if not (workspace.root / item.path).exists()]
    for item in missing:
        write_atomic(workspace.root / item.path, item.text)
    return [item.path for item in missing]


def session_files(package: Package, folder: Path) -> dict[str, Path]:
    """The session files that one run has for itself, by their path in the expert's tree.

    Those that are not in `folder` yet are made from their template, so a run that goes on after a
    crash, an approval or a failed attempt finds its own again."""
    files = {item.path: folder / item.path for item in package.state if item.scope == "session"}
    for item in package.state:
        if item.path in files and not files[item.path].exists():
            write_atomic(files[item.path], item.text)
    return files


def remove_session(workspace: Workspace, run_id: str) -> None:
    """Removes the session files of a run that has ended; fine when they are gone already."""
    folder = workspace.sessions / run_id
    if folder.parent == workspace.sessions and folder.name != "..":
        _remove(folder)


def _copy(source: Path, target: Path) -> None:
    """Files and folders; what disappears meanwhile is not missed."""
    private_folder(target)
    with contextlib.suppress(FileNotFoundError), os.scandir(source) as items:
        for item in items:
            if item.is_dir(follow_symlinks=False):
                _copy(Path(item.path), target / item.name)
            elif item.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copy2(item.path, target / item.name)


def _remove(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
