"""Confining a program with bubblewrap: it sees its folder and the machine's programs, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from colleague.sandbox.session_sandbox import SessionSandbox

INSIDE = "/workspace"
PATH = "/usr/local/bin:/usr/bin:/bin"
INSTALL = "install the package bubblewrap (apt-get install bubblewrap), or set sandbox.mode to off"
_PROGRAMS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("ld.so.cache", "alternatives", "localtime", "ssl", "ca-certificates", "passwd", "group")
_NETWORK = ("resolv.conf", "hosts", "nsswitch.conf")


def bubblewrap_arguments(
    sandbox: SessionSandbox,
    command: Sequence[str],
    *,
    folder: str,
    hidden: Sequence[Path] = (),
    read_only: Sequence[Path] = (),
    mounts: Sequence[tuple[Path, str]] = (),
) -> list[str]:
    """The command line that runs `command` inside. `hidden` and `read_only` are places in its folder;
    `mounts` are folders elsewhere, to read, with what they are called inside."""
    work = str(sandbox.folder.resolve())
    arguments = [
        *("bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *(("--share-net",) if sandbox.network else ()),
        *_machine(network=sandbox.network),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--size", str(sandbox.tmp_mb << 20), "--tmpfs", "/tmp"),  # noqa: S108 - its own
        *("--bind" if sandbox.is_writable else "--ro-bind", work, INSIDE),
    ]
    for place, inside in mounts:
        arguments += ["--ro-bind-try", str(place), inside]
    for place in read_only:
        if inside := _inside(work, place):
            arguments += ["--ro-bind", str(place), inside]
    for place in hidden:
        if inside := _inside(work, place):
            arguments += ["--tmpfs", inside] if place.is_dir() else ["--ro-bind", os.devnull, inside]
    return [*arguments, "--chdir", folder, "--", *command]


def _machine(*, network: bool) -> list[str]:
    """The programs of this machine, to read."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in _PROGRAMS:
        place = Path(name)
        if place.is_symlink():
            arguments += ["--symlink", os.fspath(place.readlink()), name]
        elif place.is_dir():
            arguments += ["--ro-bind", name, name]
    for name in (*_SETTINGS, *(_NETWORK if network else ())):
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return arguments


def _inside(work: str, place: Path) -> str:
    """What a place in the folder is called inside; empty when it is elsewhere, or does not exist."""
    real = str(place.resolve())
    return f"{INSIDE}{real[len(work) :]}" if real.startswith(f"{work}/") and place.exists() else ""


def inside_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what names places that do not exist inside."""
    gone = {"TMPDIR", "SHELL", "LOGNAME", "USER"}
    kept = {name: value for name, value in environment.items() if name not in gone}
    return {**kept, "PATH": PATH, "HOME": "/tmp", "PWD": INSIDE}  # noqa: S108 - its own


@cache
def bubblewrap_problem() -> str:
    """Why programs cannot be confined here; empty when they can."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed"
    tried = [program, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    said = done.stderr.strip().splitlines()
    return f"this machine does not let bubblewrap make a sandbox: {said[-1] if said else done.returncode}"
