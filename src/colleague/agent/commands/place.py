"""Where the commands of a session run: in which folder, with which environment, and confined by what."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from colleague.agent.commands.allowlist import ProgramFinder
from colleague.agent.commands.command_line import plain_words
from colleague.agent.commands.command_skills import CommandSkills
from colleague.agent.commands.order import CommandOrder
from colleague.errors import ColleagueError
from colleague.mcp.launch import safe_environment

MOST_BYTES = 100_000
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")


class BadPlace(ColleagueError):
    """A command cannot run where or as it is asked for."""


@dataclass(frozen=True)
class CommandPlace:
    """The workspace of a session and the programs it finds. `confine` makes an order one for its sandbox."""

    workspace: Path
    environ: Mapping[str, str]
    path_prepend: Sequence[str] = ()
    processes: int = 500
    confine: Callable[[CommandOrder], CommandOrder] | None = None
    skills: CommandSkills = field(default_factory=CommandSkills)

    @property
    def path(self) -> str:
        first = [str(Path(each).expanduser()) for each in self.path_prepend]
        return os.pathsep.join([*first, self.environ.get("PATH", os.defpath)])

    @property
    def finder(self) -> ProgramFinder:
        return ProgramFinder(self.path, self.workspace)

    def folder(self, name: str) -> Path:
        """A folder of the workspace, by its path from there or from the top of the disk; or of a skill."""
        skilled = self.skills.folder(name)
        top, inner = skilled or (self.workspace, name)
        top = top.resolve()
        try:
            found = (top / inner).resolve()
            is_there = found.is_dir()
        except (OSError, ValueError, RuntimeError):
            raise BadPlace(f"{name!r} is no folder.") from None
        if not found.is_relative_to(top):
            raise BadPlace(f"{name!r} is outside of the workspace. Name a folder in it, or none.")
        if not is_there:
            raise BadPlace(f"There is no folder {name!r} in the workspace.")
        return found

    def order(self, line: str, folder: Path, variables: Mapping[str, str], *, terminal: bool) -> CommandOrder:
        """A line without shell syntax runs as it is; any other is a shell's."""
        if len(line.encode(errors="replace")) > MOST_BYTES or "\0" in line:
            raise BadPlace(f"A command has at most {MOST_BYTES:,} bytes, and no NUL among them.")
        program, arguments = self._program(line, folder)
        order = CommandOrder(
            program=program,
            arguments=arguments,
            folder=str(folder),
            environment=self._environment(variables, terminal=terminal),
            terminal=terminal,
            processes=self.processes,
            limits=_limits(self.processes),
        )
        return order if self.confine is None else self.confine(order)

    def _program(self, line: str, folder: Path) -> tuple[str, list[str]]:
        words = plain_words(line)
        found = self.finder.find(words[0], folder) if words else None
        if words and found:
            return str(found.path), words
        shell = next((each for each in _SHELLS if Path(each).exists()), _SHELLS[-1])
        return shell, [Path(shell).name, "-c", line]

    def _environment(self, variables: Mapping[str, str], *, terminal: bool) -> dict[str, str]:
        kind = "xterm-256color" if terminal else "dumb"
        return {**safe_environment(self.environ), "PATH": self.path, "TERM": kind, **variables}


def _limits(processes: int) -> dict[str, int]:
    """The kernel's own limit counts all processes of a user, and knows none for root: a wide one, beside that
    of the supervisor, which counts those of the command."""
    return {} if os.geteuid() == 0 else {"RLIMIT_NPROC": processes + _own_processes()}


def _own_processes() -> int:
    own = os.geteuid()
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.stat().st_uid == own:
                count += len(list((folder / "task").iterdir()))
        except OSError:
            continue
    return count
