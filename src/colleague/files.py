"""Writing files so that a crash leaves the old text or the new one, never half of either. Only their owner
can read them, whatever the umask says."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from colleague.errors import HomeBusy


def write_atomic(path: Path, text: str | bytes, *, mode: int = 0o600) -> None:
    """Replaces `path` with `text`: written beside it, fsynced, renamed. A link is followed.

    An existing file keeps its mode."""
    target = path.resolve() if path.is_symlink() else path
    private_folder(target.parent)
    mode = target.stat().st_mode & 0o777 if target.exists() else mode
    beside = target.with_name(f".{target.name}.{os.urandom(6).hex()}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text if isinstance(text, bytes) else text.encode())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def private_folder(folder: Path) -> None:
    """Makes a folder, and those above it that are missing, for its owner alone."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):
            each.mkdir(mode=0o700)


def private_opener(path: str, flags: int) -> int:
    """For `open(..., opener=private_opener)`: a file that this makes is its owner's alone."""
    return os.open(path, flags, 0o600)


def sync_folder(folder: Path) -> None:
    """Makes renames inside `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


OWNER_HINT = "check its owner and mode, and those of the folders it lies in"


def is_there(path: Path) -> bool:
    """Also when nobody here may look: whoever reads it is told so."""
    try:
        return path.exists()
    except PermissionError:
        return True


@contextlib.contextmanager
def locked(path: Path, *, wait_seconds: float = 10.0) -> Iterator[None]:
    """Holds an exclusive lock on `path` between processes; gives up with HomeBusy after the wait."""
    private_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _wait_for_lock(descriptor, path, wait_seconds)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def holder_of(path: Path) -> int | None:
    """The process that holds the lock now; None when nobody does."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        written = os.pread(descriptor, 20, 0)
        return int(written) if written.isdigit() else 0
    finally:
        os.close(descriptor)
    return None


def _wait_for_lock(descriptor: int, path: Path, wait_seconds: float) -> None:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                holder = os.pread(descriptor, 20, 0).decode(errors="replace") or "unknown"
                raise HomeBusy(
                    f"{path} is held by another process (pid {holder})",
                    hint="wait until that command has ended, then try again",
                ) from None
            time.sleep(0.05)
