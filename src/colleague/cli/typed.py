"""What stands on the command line for every command alike: the home, and whether answers are JSON."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from colleague.errors import NotFound
from colleague.home import Home

_HOME = "--home"
_ROOT_OPTIONS_WITH_VALUE = (_HOME,)
_DECIDING = ("approve", "reject", "respond", "done", "not-done", "resolve")
_LOOKING = ("status", "list", "show", "history", "diff", "restore", "watch", "resume", "retry")
"""What looks at something that is there; it would make an empty home, and find nothing in it."""


@dataclass(frozen=True)
class TypedCommand:
    """`words` are the names of commands, by which a command in a text is recognised."""

    command: str = ""
    verb: str = ""
    """What follows the command at once: the command of a group."""
    home: str = ""
    as_json: bool = False
    words: tuple[str, ...] = ()


_typed = TypedCommand()


def remember(arguments: Sequence[str], words: Iterable[str]) -> TypedCommand:
    """Notes what this process was called with."""
    global _typed  # noqa: PLW0603, RUF100 - one process is one command
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    command, verb = _command(ours)
    _typed = TypedCommand(command, verb, _home(ours), "--json" in ours, tuple(words))
    return _typed


def require_home(called: TypedCommand) -> None:
    """A home that was typed and is not there is a slip of the fingers. Raises NotFound."""
    if not called.home or not {called.command, called.verb} & {*_DECIDING, *_LOOKING}:
        return
    root = home_of(called).root
    if not root.exists():
        raise NotFound(f"there is no home {root}", hint="correct --home; colleague init makes one there")


def home_of(called: TypedCommand) -> Home:
    return Home.find(Path(called.home) if called.home else None)


def typed() -> TypedCommand:
    return _typed


def with_home(text: str) -> str:
    """The text with the home that was typed in every command that it tells a person to type."""
    if not _typed.home or "colleague " not in text:
        return text
    command = re.compile(rf"(?<![\w./-])colleague (?=(?:{'|'.join(_typed.words)})\b)")
    named = f"colleague {_HOME} {shlex.quote(_typed.home)} ".replace("\\", "\\\\")
    return "\n".join(line if _HOME in line else command.sub(named, line) for line in text.split("\n"))


def _command(arguments: Sequence[str]) -> tuple[str, str]:
    """The first word that is neither an option nor the value of one, and the one after it."""
    rest = iter(arguments)
    for each in rest:
        if not each.startswith("-"):
            return each, next(rest, "")
        if each in _ROOT_OPTIONS_WITH_VALUE:
            next(rest, None)
    return "", ""


def _home(arguments: Sequence[str]) -> str:
    """The last one counts, as for the command itself."""
    found = ""
    for number, each in enumerate(arguments):
        if each == _HOME:
            found = next(iter(arguments[number + 1 : number + 2]), "")
        elif each.startswith(f"{_HOME}="):
            found = each.removeprefix(f"{_HOME}=")
    return found
