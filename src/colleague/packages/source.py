"""Where a package comes from: a folder, or a git repository."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from colleague.errors import PackageError

Progress = Callable[[str], None]

_URL = re.compile(r"(https?|ssh|git|file)://.+|[\w.-]+@[\w.-]+:.+")
PASSWORD = re.compile(r"(?<=://)[^/@]+@")


@dataclass(frozen=True)
class Source:
    """A place to install and update from."""

    kind: Literal["git", "folder", "link"]
    location: str

    def __str__(self) -> str:
        """For people: without the password a URL may carry."""
        return PASSWORD.sub("", self.location)


def parse_source(text: str, *, link: bool = False) -> Source:
    """Tells a git URL from a folder. Raises PackageError when it is neither."""
    if text.startswith("-"):
        raise PackageError(f"{text!r} is neither a folder nor a git URL")
    if _URL.fullmatch(text):
        if link:
            raise PackageError(
                "--link needs a folder, not a URL", hint="clone the repository, then link the folder"
            )
        return Source("git", text)
    folder = Path(text).expanduser().absolute()
    if not folder.is_dir():
        raise PackageError(f"there is no folder {folder}", hint="name a folder or a git URL")
    return Source("link" if link else "folder", str(folder))


@contextlib.contextmanager
def fetched(source: Source, progress: Progress) -> Iterator[Path]:
    """The folder with the package's files, for as long as the block lasts."""
    if source.kind != "git":
        if not Path(source.location).is_dir():
            raise PackageError(f"the source {source} is gone", hint="put it back, or install from elsewhere")
        yield Path(source.location)
        return
    import tempfile

    from colleague.packages.clone import clone

    with tempfile.TemporaryDirectory(prefix="colleague-clone-") as folder:
        clone(source, Path(folder) / "package", progress)
        yield Path(folder) / "package"


def origin_of(folder: Path) -> Source | None:
    """The repository a folder was cloned from by hand."""
    import shutil
    import subprocess

    if not (folder / ".git").exists() or shutil.which("git") is None:
        return None
    answer = subprocess.run(
        ["git", "-C", str(folder), "remote", "get-url", "origin"], capture_output=True, text=True, check=False
    )
    url = answer.stdout.strip()
    return Source("git", url) if answer.returncode == 0 and url else None
