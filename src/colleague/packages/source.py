"""Where a package comes from: a folder, a git repository or an archive."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from colleague.errors import PackageError
from colleague.packages.folder import normal_path
from colleague.packages.names import MANIFEST

Progress = Callable[[str], None]

GITHUB = "https://github.com"
# Compiled at their first use: `expert list` imports this and needs none of them.
_URL = r"(https?|ssh|git|file)://.+|[\w.-]+@[\w.-]+:.+"
_REPOSITORY = r"(?P<name>[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_][\w.-]*)(?:@(?P<ref>.+))?"
_WITH_REF = r"(?P<place>(?:\w+://[^/]*/|[\w.-]+@[\w.-]+:).*?[^/@])@(?P<ref>.+)"
_REF = r"[^\s~^:?*\[\\\x00-\x1f\x7f-]([^\s~^:?*\[\\\x00-\x1f\x7f]*[^\s~^:?*\[\\\x00-\x1f\x7f/.])?"
_ARCHIVE = r"(?i)[^?#]+\.(zip|tar\.gz|tgz)(?:[?#].*)?"
_BEFORE_HOST = r"(?<=://)[^/\s'\"]*@"
_QUERY = r"(?<=\w)\?[^\s'\"]+"
_KINDS = "a folder, a .zip or .tar.gz, a git URL or owner/repository"


@dataclass(frozen=True)
class Source:
    """A place to install and update from. `path` is a folder in it; `ref` a branch, tag or commit."""

    kind: Literal["git", "folder", "link", "archive"]
    location: str
    path: str = ""
    ref: str = ""

    def __str__(self) -> str:
        """For people: as they would type it, without the password or token a URL may carry."""
        ref = f"@{self.ref}" if self.ref else ""
        path = f" --path {self.path}" if self.path else ""
        return f"{without_secrets(self.location)}{ref}{path}"


@dataclass(frozen=True)
class Fetched:
    """The folder with a package's files, and whether its ref is one that is not meant to move."""

    folder: Path
    pinned: bool = False


def without_secrets(text: str) -> str:
    """The text without the passwords and query strings of the URLs in it."""
    return re.sub(_QUERY, "?...", re.sub(_BEFORE_HOST, "", text))


def parse_source(text: str, *, path: str = "", link: bool = False) -> Source:
    """Tells what a person typed. Raises PackageError when it is nothing that can be installed."""
    if text.startswith("-") or "\0" in text:
        raise PackageError(f"{without_secrets(text)!r} is not {_KINDS}")
    if path and normal_path(path) is None:
        raise PackageError(f"--path {path!r} leads out of the source", hint="name a folder inside of it")
    path = normal_path(path) or ""
    local = _local(text, path, link=link)
    if local is not None:
        return local
    remote = _remote(text, path)
    if remote is None:
        folder = Path(text).expanduser().absolute()
        kind = "folder" if folder.suffix not in (".zip", ".gz", ".tgz") else "file"
        raise PackageError(f"there is no {kind} {folder}", hint=f"name {_KINDS}")
    if link:
        raise PackageError(
            "--link needs a folder, not a URL", hint="clone the repository, then link the folder"
        )
    return remote


def _local(text: str, path: str, *, link: bool) -> Source | None:
    if re.fullmatch(_URL, text):
        return None
    place = Path(text).expanduser().absolute()
    if place.is_dir():
        return Source("link", str(_inside(place, path))) if link else Source("folder", str(place), path)
    if not place.is_file():
        return None
    if link or not re.fullmatch(_ARCHIVE, place.name):
        needed = "--link needs a folder" if link else f"name {_KINDS}"
        raise PackageError(f"{place} is a file", hint=needed)
    return Source("archive", str(place), path)


def _remote(text: str, path: str) -> Source | None:
    if re.fullmatch(_URL, text):
        if text.startswith(("http://", "https://")) and re.fullmatch(_ARCHIVE, text):
            return Source("archive", text, path)
        place, ref = _without_ref(text)
        return Source("git", place, path, checked_ref(ref))
    if found := re.fullmatch(_REPOSITORY, text):
        place = f"{GITHUB}/{found['name'].removesuffix('.git')}.git"
        return Source("git", place, path, checked_ref(found["ref"] or ""))
    return None


def _without_ref(url: str) -> tuple[str, str]:
    """A URL and what follows the @ after it. A local repository may have an @ in its own name."""
    if url.startswith("file://") and Path(url.removeprefix("file://")).exists():
        return url, ""
    found = re.fullmatch(_WITH_REF, url)
    return (found["place"], found["ref"]) if found else (url, "")


def checked_ref(ref: str) -> str:
    """The name of a branch, tag or commit, if it can be one."""
    if ref and (not re.fullmatch(_REF, ref) or ".." in ref or "@{" in ref or "//" in ref):
        raise PackageError(f"{ref!r} cannot be the name of a branch or tag", hint="such as v1.2 or main")
    return ref


@contextlib.contextmanager
def fetched(source: Source, progress: Progress) -> Iterator[Fetched]:
    """The package's files, for as long as the block lasts."""
    if source.kind in ("folder", "link"):
        if not Path(source.location).is_dir():
            raise PackageError(f"the source {source} is gone", hint="put it back, or install from elsewhere")
        yield Fetched(_package_in(source, Path(source.location)))
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="colleague-fetch-") as folder:
        place = Path(folder)
        if source.kind == "git":
            from colleague.packages.clone import clone

            pinned = clone(source, place / "package", progress)
            yield Fetched(_package_in(source, place / "package"), pinned)
        else:
            from colleague.packages.archive import unpack_source

            yield Fetched(_package_in(source, unpack_source(source, place, progress)))


def _package_in(source: Source, root: Path) -> Path:
    """The folder that the source's path names. Where there is no package, it says where there are some."""
    folder = _inside(root, source.path, source)
    if not (folder / MANIFEST).exists():
        found = sorted(str(each.parent.relative_to(root)) for each in _manifests(root))
        if found:
            hint = f"name the folder of one: {', '.join(f'--path {each}' for each in found[:5])}"
            where = f"in {source.path} of {source.location}" if source.path else f"at the top of {source}"
            raise PackageError(f"there is no {MANIFEST} {without_secrets(where)}", hint=hint)
    return folder


def _manifests(root: Path) -> Iterator[Path]:
    for depth in ("*", "*/*", "*/*/*"):
        yield from (each for each in root.glob(f"{depth}/{MANIFEST}") if each.is_file())


def _inside(root: Path, path: str, source: Source | None = None) -> Path:
    folder = root / path
    if path and (not folder.is_dir() or folder.resolve() != root.resolve() / path):
        place = without_secrets(source.location) if source else root
        raise PackageError(f"there is no folder {path} in {place}", hint="correct --path")
    return folder
