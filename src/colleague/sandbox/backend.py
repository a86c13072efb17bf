"""What confines programs: one interface for bubblewrap and Docker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from colleague.sandbox.session_sandbox import SessionSandbox

INSIDE = "/workspace"
PATH = "/usr/local/bin:/usr/bin:/bin"
_NOT_INSIDE = {"TMPDIR", "SHELL", "LOGNAME", "USER"}


@dataclass(frozen=True)
class InsideCommand:
    """A program that is to run inside. `hidden` and `read_only` are places in the sandbox's folder."""

    program: str
    """As this machine finds it, or as it is called inside."""
    arguments: Sequence[str]
    """The first one is the name that the program sees itself called by."""
    folder: str
    """As it is called inside."""
    environment: Mapping[str, str] = field(repr=False)
    terminal: bool = False
    hidden: Sequence[Path] = ()
    read_only: Sequence[Path] = ()
    mounts: Sequence[tuple[Path, str]] = ()
    """Folders elsewhere, to read, with what they are called inside."""
    processes: int = 500


@dataclass(frozen=True)
class ConfinedCommand:
    """The program of the backend that runs it inside."""

    program: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    """Of the backend itself. A variable for the inside is never in it: LD_PRELOAD would load code outside."""
    unseen: str = field(default="", repr=False)
    """Read from a descriptor, so that other users of the machine cannot see it. A NUL in an argument stands
    for the number of the descriptor."""
    limits: Mapping[str, int] = field(default_factory=dict)
    afterwards: Sequence[str] = ()
    """Ends what the backend's program would leave behind when it is killed."""


class SandboxBackend(Protocol):
    """Confines programs."""

    @property
    def name(self) -> str: ...

    @property
    def cure(self) -> str:
        """What a person does when there is a problem."""

    def problem(self) -> str:
        """Why programs cannot be confined here; empty when they can."""

    def confine(self, sandbox: SessionSandbox, command: InsideCommand) -> ConfinedCommand: ...


def place_inside(sandbox: SessionSandbox, place: Path) -> str:
    """What a place in the folder is called inside; empty when it is elsewhere, or does not exist."""
    work, real = str(sandbox.folder.resolve()), str(place.resolve())
    return f"{INSIDE}{real[len(work) :]}" if real.startswith(f"{work}/") and place.exists() else ""


def inside_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what names places that do not exist inside."""
    kept = {name: value for name, value in environment.items() if name not in _NOT_INSIDE}
    return {**kept, "PATH": PATH, "HOME": "/tmp", "PWD": INSIDE}  # noqa: S108 - its own
