"""The names in an archive: which of them could do harm, on this system or on another."""

from __future__ import annotations

import unicodedata

from colleague.errors import PackageError
from colleague.packages.folder import normal_path
from colleague.packages.reserved import is_device

MAX_PATH = 1024
MAX_NAME = 255
MAX_DEPTH = 32
_FORBIDDEN = frozenset('<>:"|?*\\')


class Names:
    """Names that may stand side by side: each once, also where capitals and accents make no difference."""

    def __init__(self) -> None:
        self._spelled: dict[str, str] = {}
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._links: dict[str, str] = {}

    def add(self, name: str, kind: str, link_to: str = "") -> str:
        """The path to write to. Raises PackageError for a name that nothing is written under."""
        path = _clean(name)
        parts = path.split("/") if path else []
        for depth in range(1, len(parts)):
            self._add_folder("/".join(parts[:depth]))
        if kind == "folder":
            self._add_folder(path)
        else:
            self._add_single(path)
        if kind == "link":
            self._add_link(path, link_to)
        return path

    def check_links(self) -> None:
        """Called when all are known: nothing lies behind a link."""
        for name in self._links:
            if name in self._folders:
                raise PackageError(f"{name!r} is a link and a folder at once")

    def _add_folder(self, path: str) -> None:
        self._spell(path)
        if path in self._files:
            raise PackageError(f"{path!r} is a file and a folder at once")
        self._folders.add(path)

    def _add_single(self, path: str) -> None:
        if not path:
            raise PackageError("a file in it has no name")
        if path in self._files:
            raise PackageError(f"{path!r} is in it twice")
        if path in self._folders:
            raise PackageError(f"{path!r} is a file and a folder at once")
        self._spell(path)
        self._files.add(path)

    def _spell(self, path: str) -> None:
        folded = unicodedata.normalize("NFKC", path).casefold()
        if self._spelled.setdefault(folded, path) != path:
            raise PackageError(f"{path!r} and {self._spelled[folded]!r} are the same name on some systems")

    def _add_link(self, path: str, link_to: str) -> None:
        above = path.rpartition("/")[0]
        lands = normal_path(f"{above}/{link_to}" if above else link_to)
        if not link_to or link_to.startswith("/") or lands is None or not _printable(link_to):
            raise PackageError(f"{path!r} is a link to {link_to[:MAX_NAME]!r}, outside the archive")
        self._links[path] = link_to


def _clean(name: str) -> str:
    """The name without the ./ before and the / after it."""
    shown = name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}..."
    if len(name.encode("utf-8", "surrogatepass")) > MAX_PATH:
        raise PackageError(f"the name {shown!r} is longer than {MAX_PATH:,} bytes")
    if not _printable(name):
        raise PackageError(f"the name {shown!r} has characters that no file name should have")
    if name.startswith(("/", "~")):
        raise PackageError(f"the name {shown!r} is an absolute path")
    parts = [part for part in name.removesuffix("/").split("/") if part != "."]
    if len(parts) > MAX_DEPTH:
        raise PackageError(f"the name {shown!r} is more than {MAX_DEPTH} folders deep")
    for part in parts:
        if problem := _problem(part):
            raise PackageError(f"the name {shown!r} {problem}")
    return "/".join(parts)


def _problem(part: str) -> str:
    """What is wrong with one part of a name; empty when nothing is."""
    if part == "..":
        return "leads out of the archive"
    if not part:
        return "has an empty part"
    if len(part.encode()) > MAX_NAME:
        return f"has a part of more than {MAX_NAME} bytes"
    if _FORBIDDEN.intersection(part) or part[-1] in ". ":
        return "cannot be written on Windows"
    return "is a device on Windows" if is_device(part) else ""


def _printable(text: str) -> bool:
    """No control characters, no invisible marks that turn text around, nothing that is not Unicode."""
    return not any(unicodedata.category(each) in ("Cc", "Cf", "Cs", "Co") for each in text)
