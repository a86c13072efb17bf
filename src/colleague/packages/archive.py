"""Unpacking a .zip or .tar.gz that may be hostile: every name, kind and size is checked before it is written.

The standard library lists the entries and reads their bytes. The files are made here, links last, so that
nothing is ever written through one."""

from __future__ import annotations

import errno
import gzip
import stat
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Literal

from colleague.errors import PackageError
from colleague.files import private_folder, private_opener
from colleague.packages.archive_names import Names
from colleague.packages.folder import MAX_FILE_BYTES, MAX_FILES
from colleague.packages.names import MANIFEST
from colleague.packages.source import Progress, Source
from colleague.shortage import is_shortage

_MEGABYTE = 1024 * 1024
_PIECE = 64 * 1024
_LONGEST_LINK = 4096
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_SET_ID = stat.S_ISUID | stat.S_ISGID


@dataclass(frozen=True)
class ArchiveLimits:
    """Bytes of the archive, bytes and number of its entries, and how many times its size they may have."""

    size: int = 100 * _MEGABYTE
    unpacked: int = 200 * _MEGABYTE
    entries: int = MAX_FILES
    ratio: int = 200
    unsuspicious: int = 10 * _MEGABYTE
    """Up to so many bytes the ratio does not matter."""
    header: int = 8 * _MEGABYTE
    """Of the list of entries in a zip, and of anything that a tar has in one piece."""


LIMITS = ArchiveLimits()


@dataclass(frozen=True)
class _Entry:
    """A file, folder or link in an archive."""

    name: str
    kind: Literal["file", "folder", "link"]
    open: Callable[[], IO[bytes]]
    link_to: str = ""


def unpack_source(source: Source, folder: Path, progress: Progress, limits: ArchiveLimits = LIMITS) -> Path:
    """Fetches and unpacks an archive below `folder`; returns the folder that its paths are counted from."""
    file = Path(source.location)
    if "://" in source.location:
        from colleague.packages.download import download

        file = folder / "archive"
        download(source, file, progress, limits.size)
    elif not file.is_file():
        raise PackageError(f"the source {source} is gone", hint="put it back, or install from elsewhere")
    progress("Unpacking")
    target = folder / "package"
    with _damage_as_error(source):
        unpack(file, target, limits)
    return _top(target)


def _top(target: Path) -> Path:
    """Archives of repositories have everything in one folder, and macOS adds one of its own."""
    found = [each for each in target.iterdir() if each.name != "__MACOSX"]
    single = len(found) == 1 and found[0].is_dir() and not found[0].is_symlink()
    return found[0] if single and not (target / MANIFEST).exists() else target


@contextmanager
def _damage_as_error(source: Source) -> Iterator[None]:
    """Whatever the libraries stumble over in a broken or hostile archive is one error."""
    try:
        yield
    except PackageError as error:
        raise PackageError(f"{source} is refused: {error.message}", hint=error.hint) from None
    except Exception as error:
        if is_shortage(error) or getattr(error, "errno", None) in _DISK_FULL:
            raise
        reason = str(error) or type(error).__name__
        raise PackageError(
            f"{source} is damaged, or no archive: {reason}", hint="fetch or make it again"
        ) from None


def unpack(file: Path, target: Path, limits: ArchiveLimits = LIMITS) -> None:
    """Writes the archive's files below `target`, a folder that it makes."""
    size = file.stat().st_size
    if size > limits.size:
        raise PackageError(f"it has {size:,} bytes; {limits.size:,} is the limit")
    private_folder(target)
    unpacked = _UnpackedBytes(size, limits)
    with file.open("rb") as reading:
        if reading.read(2) == b"\x1f\x8b":
            with _plain_tar(reading, unpacked, target.parent) as plain, _tar(plain, limits) as archive:
                _write_all(list(_tar_entries(archive, target, limits)), target, unpacked)
        else:
            _check_directory(reading, size, limits)
            with zipfile.ZipFile(reading) as zipped:
                _write_all([_zip_entry(zipped, info) for info in zipped.infolist()], target, unpacked)


@dataclass
class _UnpackedBytes:
    """How many bytes may still come out of an archive."""

    size: int
    limits: ArchiveLimits
    used: int = 0

    def take(self, count: int) -> None:
        self.used += count
        if self.used > self.limits.unpacked:
            raise PackageError(f"its files have more than {self.limits.unpacked:,} bytes")
        if self.used > max(self.limits.unsuspicious, self.size * self.limits.ratio):
            raise PackageError(f"its files are more than {self.limits.ratio} times as large as itself")


def _write_all(entries: list[_Entry], target: Path, unpacked: _UnpackedBytes) -> None:
    """Every name is checked before the first file is written."""
    if len(entries) > unpacked.limits.entries:
        raise PackageError(f"it has more than {unpacked.limits.entries:,} entries")
    names = Names()
    checked = [(names.add(each.name, each.kind, each.link_to), each) for each in entries]
    names.check_links()
    unpacked.used = 0
    for name, entry in checked:
        if entry.kind == "folder":
            private_folder(target / name)
        elif entry.kind == "file":
            private_folder((target / name).parent)
            _write(entry, target / name, unpacked)
    for name, entry in checked:
        if entry.kind == "link":
            private_folder((target / name).parent)
            (target / name).symlink_to(entry.link_to)


def _write(entry: _Entry, path: Path, unpacked: _UnpackedBytes) -> None:
    written = 0
    with entry.open() as reading, open(path, "xb", opener=private_opener) as writing:
        while piece := reading.read(_PIECE):
            written += len(piece)
            unpacked.take(len(piece))
            if written > MAX_FILE_BYTES:
                raise PackageError(f"{entry.name} has more than {MAX_FILE_BYTES:,} bytes")
            writing.write(piece)


# zip


def _check_directory(file: IO[bytes], size: int, limits: ArchiveLimits) -> None:
    """How long the list of entries is. The library would read it whole, whatever its length."""
    tail = min(size, 22 + 65_535 + 20)
    file.seek(size - tail)
    data = file.read(tail)
    at = len(data) - 22
    if not (data[at : at + 4] == b"PK\5\6" and data.endswith(b"\0\0")):
        at = data.rfind(b"PK\5\6")
    if at < 0 or len(data) < at + 22:
        raise PackageError("it is neither a zip nor a gzipped tar")
    _, count, length = struct.unpack("<HHL", data[at + 8 : at + 16])
    if length > limits.header or count > limits.entries:
        raise PackageError(f"it has more than {limits.entries:,} entries")
    if data[max(0, at - 20) : at].startswith(b"PK\6\7"):
        raise PackageError("it is a zip for more than 4 gigabytes (zip64)", hint="make a plain zip of it")


def _zip_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Entry:
    name, mode = info.orig_filename, info.external_attr >> 16
    if info.flag_bits & 0x1:
        raise PackageError(f"{name!r} is encrypted", hint="make an archive without a password")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise PackageError(f"{name!r} is compressed in an unusual way", hint="make a plain zip of it")
    kind = stat.S_IFMT(mode)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
        raise PackageError(f"{name!r} is neither a file nor a folder")
    reads = partial(archive.open, info)
    if kind == stat.S_IFLNK:
        with reads() as reading:
            return _Entry(name, "link", reads, reading.read(_LONGEST_LINK + 1).decode())
    if name.endswith("/") or kind == stat.S_IFDIR:
        return _Entry(name, "folder", reads)
    return _file(name, mode, info.file_size, reads)


def _file(name: str, mode: int, size: int, reads: Callable[[], IO[bytes]]) -> _Entry:
    if mode & _SET_ID:
        raise PackageError(f"{name!r} would run with the rights of another user (setuid or setgid)")
    if size > MAX_FILE_BYTES:
        raise PackageError(f"{name!r} has {size:,} bytes; {MAX_FILE_BYTES:,} is the limit")
    return _Entry(name, "file", reads)


# tar


@contextmanager
def _plain_tar(file: IO[bytes], unpacked: _UnpackedBytes, folder: Path) -> Iterator[IO[bytes]]:
    file.seek(0)
    with tempfile.TemporaryFile(dir=folder) as plain, gzip.GzipFile(fileobj=file) as zipped:
        while piece := zipped.read(_PIECE):
            unpacked.take(len(piece))
            plain.write(piece)
        plain.seek(0)
        yield plain


class _Pieces:
    """A file of which nobody gets a large piece at once: a tar may announce a header of any length."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file, self._most = file, most
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self._most:
            raise PackageError("it has a header that is too large")
        return self._file.read(size)


@contextmanager
def _tar(plain: IO[bytes], limits: ArchiveLimits) -> Iterator[tarfile.TarFile]:
    pieces: IO[bytes] = _Pieces(plain, limits.header)  # type: ignore[assignment] # all that tarfile uses
    with tarfile.open(fileobj=pieces, mode="r:", encoding="utf-8", errors="strict") as archive:
        yield archive


def _tar_entries(archive: tarfile.TarFile, target: Path, limits: ArchiveLimits) -> Iterator[_Entry]:
    files: set[str] = set()
    for number, info in enumerate(archive):
        if number >= limits.entries:
            raise PackageError(f"it has more than {limits.entries:,} entries")
        entry = _tar_entry(archive, info, target, files)
        if entry.kind == "file":
            files.add(info.name)
        yield entry


def _tar_entry(archive: tarfile.TarFile, info: tarfile.TarInfo, target: Path, files: set[str]) -> _Entry:
    reads = partial(_extracted, archive, info, target)
    if info.isdir():
        return _Entry(info.name, "folder", reads)
    if info.issym():
        return _Entry(info.name, "link", reads, info.linkname)
    if info.islnk():
        if info.linkname not in files:
            raise PackageError(
                f"{info.name!r} is a hard link to {info.linkname!r}, which is no file before it"
            )
    elif not info.isreg() or info.issparse():
        raise PackageError(f"{info.name!r} is neither a file nor a folder")
    return _file(info.name, info.mode, info.size, reads)


def _extracted(archive: tarfile.TarFile, info: tarfile.TarInfo, target: Path) -> IO[bytes]:
    _check_by_library(info, target)
    reading = archive.extractfile(info)
    if reading is None:
        raise PackageError(f"{info.name!r} has no content")
    return reading


def _check_by_library(info: tarfile.TarInfo, target: Path) -> None:
    """A second look by the library's own filter, which came with Python 3.11.4."""
    if hasattr(tarfile, "data_filter"):
        try:
            tarfile.data_filter(info, str(target))
        except tarfile.FilterError as error:
            raise PackageError(str(error)) from None
