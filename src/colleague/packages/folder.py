"""A package's folder on disk, read so that nothing in it can lead outside."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from colleague.files import OWNER_HINT
from colleague.packages.finding import Findings
from colleague.packages.mark import Mark
from colleague.packages.names import BINDINGS, IGNORED, LINK, MANIFEST
from colleague.shortage import raise_shortage

MAX_FILE_BYTES = 10 * 1024 * 1024
MAX_FILES = 20_000
LFS_POINTER = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True)
class FolderEntry:
    """A file of the package, or a link that stays inside it."""

    path: str
    link_to: str | None = None


class PackageFolder:
    """Reads files by their path in the package and notes what is wrong with them."""

    def __init__(self, root: Path, findings: Findings) -> None:
        self.root = root
        self.findings = findings

    def read(self, path: str, at: Mark, *, missing: str = "component-missing") -> str | None:
        """The text of a file, without BOM and with plain newlines; None when it cannot be had.

        `at` is the place that names the file, `missing` the rule broken when it does not exist."""
        target = self.locate(path, at)
        if target is None:
            return None
        path = normal_path(path) or path
        try:
            status = target.stat()
        except FileNotFoundError:
            self.findings.add(missing, at, f"{path} does not exist", "add the file or correct the path")
            return None
        except OSError as error:
            raise_shortage(error)
            self.findings.add("file-unreadable", at, f"{path} cannot be read: {error.strerror}", OWNER_HINT)
            return None
        if not self._is_usable(path, status):
            return None
        return self._decode(path, target)

    def locate(self, path: str, at: Mark) -> Path | None:
        """Where `path` lies on disk, None (and a finding) when that is outside the package."""
        clean = normal_path(path)
        if clean is None:
            hint = "use a path inside the package, such as knowledge/pricing.md"
            self.findings.add("path-outside-package", at, f"{path!r} leads out of the package", hint)
            return None
        if IGNORED.intersection(clean.split("/")):
            message = f"{path!r} is not part of the package"
            self.findings.add("path-outside-package", at, message, "move the file elsewhere in the package")
            return None
        target = self.root / clean
        try:
            inside = target.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError) as error:
            raise_shortage(error)
            inside = False
        if not inside:
            message = f"{clean} is reached through a link that leads out of the package"
            self.findings.add("link-outside-package", at, message, "copy the file into the package")
            return None
        return target

    def _is_usable(self, path: str, status: os.stat_result) -> bool:
        at = Mark(path)
        if not stat.S_ISREG(status.st_mode):
            self.findings.add("file-not-regular", at, f"{path} is not a file", "name a file")
            return False
        if status.st_size > MAX_FILE_BYTES:
            message = f"{path} has {status.st_size:,} bytes; {MAX_FILE_BYTES:,} is the limit"
            self.findings.add("file-too-large", at, message, "split it")
            return False
        if not os.access(self.root / path, os.R_OK):
            self.findings.add("file-unreadable", at, f"{path} cannot be read", OWNER_HINT)
            return False
        return True

    def _decode(self, path: str, target: Path) -> str | None:
        try:
            data = target.read_bytes()
        except OSError as error:
            raise_shortage(error)
            self.findings.add("file-unreadable", Mark(path), f"{path} cannot be read: {error.strerror}")
            return None
        if data.startswith(LFS_POINTER):
            message = f"{path} is a Git LFS pointer, not the text itself"
            hint = "keep texts out of LFS; or run git lfs pull in a clone, then install that folder"
            self.findings.add("file-lfs-pointer", Mark(path, 1), message, hint)
            return None
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            message = f"byte 0x{data[error.start]:02x} is not UTF-8"
            self.findings.add("file-not-utf8", Mark(path, line), message, "save the file as UTF-8")
            return None
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def entries(self) -> list[FolderEntry]:
        """Every file of the package, sorted by path; notes links that leave it, pipes and giants."""
        found: list[FolderEntry] = []
        pending = [""]
        while pending:
            for item in self._scan(pending.pop()):
                path = str(Path(item.path).relative_to(self.root))
                if item.is_symlink():
                    self._add_link(found, path)
                elif item.is_dir():
                    pending.append(path)
                elif self._is_usable(path, item.stat()):
                    found.append(FolderEntry(path))
            if len(found) > MAX_FILES:
                message = f"more than {MAX_FILES:,} files in {self.root}"
                self.findings.add(
                    "package-too-large", Mark(MANIFEST), message, "is this the package's own folder?"
                )
                break
        return sorted(found, key=lambda entry: entry.path)

    def _scan(self, path: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / path) as items:
                return [item for item in items if not (item.name in IGNORED or _is_ours(path, item.name))]
        except OSError as error:
            raise_shortage(error)
            self.findings.add(
                "file-unreadable", Mark(path or "."), f"{path} cannot be read: {error.strerror}"
            )
            return []

    def _add_link(self, found: list[FolderEntry], path: str) -> None:
        target = str((self.root / path).readlink())
        lands = normal_path(os.path.join(os.path.dirname(path), target))  # noqa: PTH118, PTH120 - text only
        if lands is None or Path(target).is_absolute():
            message = f"{path} is a link to {target}, outside the package"
            self.findings.add("link-outside-package", Mark(path), message, "copy the file into the package")
        elif self.locate(path, Mark(path)) is not None:
            found.append(FolderEntry(path, link_to=target))


def normal_path(path: str) -> str | None:
    """`./a/../b.md` as `b.md`; None when the path is absolute, empty or leads out."""
    if not path or "\0" in path or path.startswith(("/", "~")) or "\\" in path:
        return None
    clean = os.path.normpath(path)
    return None if clean in (".", "..") or clean.startswith("../") else clean


def _is_ours(folder: str, name: str) -> bool:
    """The user's bindings and the pointer of a linked package lie in the folder but are not the package."""
    return folder == "" and name in (BINDINGS, LINK)
