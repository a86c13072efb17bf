"""Which commands may run without a question: by the program that would really run, and its arguments."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from colleague.config.agent_tools import AllowedCommand

ANY_MORE = "**"
"""As the last pattern: any further arguments, or none."""


class FoundProgram(NamedTuple):
    """Where it was found, and the file that this leads to."""

    path: Path
    file: Path

    def is_same(self, other: FoundProgram | None) -> bool:
        """One file may be many programs, by the name it is called, as busybox is."""
        return other is not None and (self.path.name, self.file) == (other.path.name, other.file)


@dataclass(frozen=True)
class ProgramFinder:
    """Finds programs as a command would, by absolute folders alone. What lies in `workspace` is the agent's
    own work, and is never the program that a person meant."""

    path: str
    workspace: Path

    def find(self, name: str, folder: Path) -> FoundProgram | None:
        """The file that would run. A name with a slash counts from `folder`."""
        if "/" in name:
            found: str | None = str(folder / Path(name).expanduser())
        else:
            folders = [each for each in self.path.split(os.pathsep) if each.startswith("/")]
            found = shutil.which(name, path=os.pathsep.join(folders)) if folders else None
        if not found or not os.access(found, os.X_OK) or not Path(found).is_file():
            return None
        return FoundProgram(Path(found), Path(found).resolve())

    def is_trusted(self, program: FoundProgram) -> bool:
        return not program.file.is_relative_to(self.workspace.resolve())


def is_allowed(
    words: Sequence[str], folder: Path, allowed: Sequence[AllowedCommand], finder: ProgramFinder
) -> bool:
    """Whether an entry names this program and fits these arguments."""
    program = finder.find(words[0], folder)
    if program is None or not finder.is_trusted(program):
        return False
    return any(
        program.is_same(finder.find(each.program, Path("/"))) and fits(words[1:], each.args)
        for each in allowed
    )


def fits(arguments: Sequence[str], patterns: Sequence[str] | None) -> bool:
    """One pattern for one argument. None fits any arguments."""
    if patterns is None:
        return True
    if patterns and patterns[-1] == ANY_MORE:
        patterns = patterns[:-1]
        arguments = arguments[: len(patterns)]
    return len(arguments) == len(patterns) and all(map(fnmatchcase, arguments, patterns))
