"""Cloning a package's repository: bounded in time and size, whatever the server does."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from colleague.errors import PackageError
from colleague.packages.folder import MAX_FILES
from colleague.packages.git_error import git_error
from colleague.packages.source import Progress, Source, without_secrets

LOOK_EVERY = 1.0
_OPTIONS = ("protocol.ext.allow=never", "http.lowSpeedLimit=1", "http.lowSpeedTime=30")
_GIT = ("git", *(part for option in _OPTIONS for part in ("-c", option)))
_COMMIT = re.compile(r"[0-9a-f]{40}")
_BY_HAND = "clone it yourself, then install the folder"


@dataclass(frozen=True)
class CloneLimits:
    """How long it may take, how long git may say nothing, how many bytes it may fetch and unpack."""

    seconds: float = 600
    silent_seconds: float = 60
    size: int = 500 * 1024 * 1024


LIMITS = CloneLimits()


def clone(source: Source, target: Path, progress: Progress, limits: CloneLimits = LIMITS) -> bool:
    """Fetches one commit, looks at its size, and only then writes its files.

    Returns whether the source names a tag or a commit, which are not meant to move."""
    import shutil

    if shutil.which("git") is None:
        raise PackageError("git is not installed", hint="install git, or install from a folder or a .zip")
    work = _Cloning(source, target, progress, limits, time.monotonic() + limits.seconds)
    if _COMMIT.fullmatch(source.ref):
        work.fetch_commit()
    else:
        work.fetch_branch()
    if work.has_files():
        work.check_out()
    return bool(source.ref) and not _head(target).startswith("ref:")


def _head(target: Path) -> str:
    return (target / ".git" / "HEAD").read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class _Cloning:
    """One clone, watched."""

    source: Source
    target: Path
    progress: Progress
    limits: CloneLimits
    deadline: float

    def fetch_branch(self) -> None:
        """The newest commit of a branch, or that of a tag; of the default branch when none is named."""
        wanted = ("--branch", self.source.ref) if self.source.ref else ()
        options = ("--depth", "1", "--no-checkout", "--progress", *wanted)
        self.run("clone", *options, "--", self.source.location, str(self.target))

    def fetch_commit(self) -> None:
        self.run("init", "--quiet", "--template=", "--", str(self.target))
        fetch = ("fetch", "--depth", "1", "--progress", "--no-tags", "--", self.source.location)
        self.run("-C", str(self.target), *fetch, self.source.ref)
        self.run("-C", str(self.target), "update-ref", "--no-deref", "HEAD", "FETCH_HEAD")

    def check_out(self) -> None:
        """Only the files below the source's path."""
        paths = [self.source.path] if self.source.path else ["."]
        command = ("--literal-pathspecs", "-C", str(self.target), "checkout", "--progress", "--force", "HEAD")
        self.run(*command, "--", *paths)

    def run(self, *arguments: str) -> None:
        """One git command; it and all it started are gone at the end, also after Ctrl-C."""
        said: list[str] = []
        with subprocess.Popen(
            [*_GIT, *arguments],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as git:
            try:
                for line in self._lines(git):
                    said = [*said[-9:], line]
                    self.progress(line)
                git.wait(timeout=max(0.0, self.deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._refuse_slow("took longer than", self.limits.seconds)
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(git.pid, signal.SIGKILL)
        if git.returncode != 0:
            raise git_error(self.source, said or [f"git ended with {git.returncode}"])

    def _lines(self, git: subprocess.Popen[bytes]) -> Iterator[str]:
        """What git says of its progress, line by line, until it ends. Raises when a limit is reached."""
        assert git.stderr is not None  # noqa: S101 - asked for above
        descriptor, left, heard = git.stderr.fileno(), b"", time.monotonic()
        while True:
            ready, _, _ = select.select([descriptor], [], [], LOOK_EVERY)
            self._check(heard)
            if not ready:
                continue
            data, heard = os.read(descriptor, 65_536), time.monotonic()
            *lines, left = (left + data).replace(b"\r", b"\n").split(b"\n")
            for line in [*lines, *([left] if not data else [])]:
                if text := line.decode(errors="replace").strip():
                    yield without_secrets(text)
            if not data:
                return

    def _check(self, heard: float) -> None:
        now = time.monotonic()
        if now > self.deadline:
            self._refuse_slow("took longer than", self.limits.seconds)
        if now - heard > self.limits.silent_seconds:
            self._refuse_slow("said nothing for", self.limits.silent_seconds)
        if _size_of(self.target, self.limits.size) > self.limits.size:
            self._refuse_large()

    def has_files(self) -> bool:
        """Whether there are any. Raises when they are more than a package may have."""
        below = ["--", f"{self.source.path}/"] if self.source.path else []
        tree = ["--literal-pathspecs", "-C", str(self.target), "ls-tree", "-r", "-l", "-z", "HEAD"]
        listing = [*_GIT, *tree, *below]
        answer = subprocess.run(listing, env=_environment(), capture_output=True, check=False)
        sizes = [line.split(b"\t", 1)[0].split()[-1] for line in answer.stdout.split(b"\0") if line]
        if sum(int(size) for size in sizes if size.isdigit()) > self.limits.size:
            self._refuse_large()
        if len(sizes) > MAX_FILES:
            raise PackageError(
                f"{self.source} has {len(sizes):,} files; {MAX_FILES:,} is the limit", hint=_BY_HAND
            )
        return bool(sizes)

    def _refuse_slow(self, what: str, seconds: float) -> None:
        raise PackageError(f"cannot clone {self.source}: it {what} {seconds:g} s", hint=_BY_HAND) from None

    def _refuse_large(self) -> None:
        limit = f"{self.limits.size // 1_048_576:,} MB"
        raise PackageError(f"cannot clone {self.source}: it is larger than {limit}", hint=_BY_HAND)


def _environment() -> dict[str, str]:
    """Nobody is asked for a password, and nothing is fetched from a store that the repository names."""
    return os.environ | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }


def _size_of(folder: Path, enough: int) -> int:
    """Bytes of all files below; it stops to count at `enough`."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_size  # noqa: PTH118 - many
            if total > enough:
                return total
    return total
