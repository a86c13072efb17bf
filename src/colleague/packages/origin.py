"""The repository that a folder was cloned from by hand, and whether the clone is as it came."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from colleague.errors import PackageError
from colleague.packages.source import Source

_TRACKED = "refs/remotes/origin/"


def origin_of(folder: Path) -> Source | None:
    """Where the clone came from, with the branch, tag or commit that it has now."""
    import shutil

    if not (folder / ".git").exists() or shutil.which("git") is None:
        return None
    url = _git(folder, "remote", "get-url", "origin")
    return Source("git", url, ref=_ref(folder)) if url else None


def is_untouched(folder: Path, digest: str) -> bool:
    """Whether a clone whose files have this digest is as it came: nothing edited, no commit of one's own.

    Git never looks at the files inside the folder: its own settings could name commands for that. They are
    compared with a fresh checkout elsewhere."""
    commit = _git(folder, "rev-parse", "HEAD") if (folder / ".git").is_dir() else ""
    if not commit or not _git(folder, "for-each-ref", "--contains", commit, _TRACKED, "refs/tags/"):
        return False
    from colleague.packages.clone import clone
    from colleague.packages.package import read_package

    with tempfile.TemporaryDirectory(prefix="colleague-origin-") as place:
        target = Path(place) / "package"
        try:
            clone(Source("git", f"file://{folder.resolve()}", ref=commit), target, lambda _: None)
        except PackageError:
            return False
        committed = read_package(target).package
    return committed is not None and committed.digest == digest


def _ref(folder: Path) -> str:
    """Nothing while it is on the branch that the repository has by default."""
    branch = _git(folder, "symbolic-ref", "--quiet", "--short", "HEAD")
    if branch:
        default = _git(folder, "symbolic-ref", "--quiet", f"{_TRACKED}HEAD")
        return "" if default in ("", f"{_TRACKED}{branch}") else branch
    return _git(folder, "describe", "--tags", "--exact-match", "HEAD") or _git(folder, "rev-parse", "HEAD")


def _git(folder: Path, *arguments: str) -> str:
    """What a command says that only reads; nothing when it fails."""
    command = ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return answer.stdout.strip() if answer.returncode == 0 else ""
