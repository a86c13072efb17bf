"""Confining a program with bubblewrap: it sees its folder and the machine's programs, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from colleague.sandbox.backend import (
    INSIDE,
    ConfinedCommand,
    InsideCommand,
    inside_environment,
    place_inside,
)
from colleague.sandbox.session_sandbox import SessionSandbox

INSTALL = "install the package bubblewrap (apt-get install bubblewrap)"
ALLOW = (
    "let ordinary users make user namespaces (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu"
    " kernel.apparmor_restrict_unprivileged_userns=0)"
)
_PROGRAMS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("ld.so.cache", "alternatives", "localtime", "ssl", "ca-certificates", "passwd", "group")
_NETWORK = ("resolv.conf", "hosts", "nsswitch.conf")
_TRY_SECONDS = 20
_working: set[str] = set()
"""Programs that have made a sandbox in this process."""


@dataclass(frozen=True)
class Bubblewrap:
    """Each command gets a sandbox of its own around the session's folder. The limits hold for a process."""

    name = "bubblewrap"

    @property
    def cure(self) -> str:
        return f"{bubblewrap_cure()}, or set sandbox.mode to off"

    def problem(self) -> str:
        return bubblewrap_problem()

    def confine(self, sandbox: SessionSandbox, command: InsideCommand) -> ConfinedCommand:
        options = [
            *isolation(network=sandbox.network),
            *("--size", str(sandbox.tmp_mb << 20), "--tmpfs", "/tmp"),  # noqa: S108 - its own
            *_folder(sandbox, command),
        ]
        program, *rest = command.arguments
        unseen = ["--clearenv", *variables(inside_environment(command.environment))]
        return ConfinedCommand(
            program=shutil.which("bwrap") or "bwrap",
            arguments=[
                "bwrap",
                "--args",
                "\0",
                *options,
                "--chdir",
                command.folder,
                "--",
                command.program or program,
                *rest,
            ],
            environment={},
            unseen="".join(f"{each}\0" for each in unseen),
            limits={"RLIMIT_AS": sandbox.memory_mb << 20, "RLIMIT_FSIZE": sandbox.file_mb << 20},
        )


def isolation(*, network: bool) -> list[str]:
    """Options that take everything away and give the machine's programs back, to read."""
    return [
        *("--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *(("--share-net",) if network else ()),
        *_machine(network=network),
        *("--proc", "/proc", "--dev", "/dev"),
    ]


def variables(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        yield from ("--setenv", name, value)


def _folder(sandbox: SessionSandbox, command: InsideCommand) -> Iterator[str]:
    yield from ("--bind" if sandbox.is_writable else "--ro-bind", str(sandbox.folder.resolve()), INSIDE)
    for place, inside in command.mounts:
        yield from ("--ro-bind-try", str(place), inside)
    for place in command.read_only:
        if inside := place_inside(sandbox, place):
            yield from ("--ro-bind", str(place), inside)
    for place in command.hidden:
        if inside := place_inside(sandbox, place):
            yield from ("--tmpfs", inside) if place.is_dir() else ("--ro-bind", os.devnull, inside)


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


def bubblewrap_problem() -> str:
    """Why programs cannot be confined here; empty when they can. A cure needs no restart."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed"
    if program in _working:
        return ""
    tried = [program, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    try:
        done = subprocess.run(tried, capture_output=True, text=True, check=False, timeout=_TRY_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap cannot be run: {error}"
    if done.returncode == 0:
        _working.add(program)
        return ""
    said = done.stderr.strip().splitlines()
    return f"this machine does not let bubblewrap make a sandbox: {said[-1] if said else done.returncode}"


def bubblewrap_cure() -> str:
    """What a person does when there is a problem."""
    return ALLOW if shutil.which("bwrap") else INSTALL
