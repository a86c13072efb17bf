"""What the supervisor of a command is told to run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class CommandOrder:
    """A program with its arguments, folder, environment and limits."""

    program: str
    """An absolute path."""
    arguments: Sequence[str]
    """The first one is the name that the program sees itself called by."""
    folder: str
    environment: Mapping[str, str] = field(repr=False)
    terminal: bool = False
    processes: int = 500
    """More at once are taken for a fork bomb, and all are killed."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """By their names in the module `resource`."""
    no_new_privileges: bool = True
    """Whether setuid programs run as whoever starts them. A setuid sandbox needs its own privileges."""

    unseen: str = field(default="", repr=False)
    """What the program reads from a descriptor. A NUL in an argument stands for its number."""
    watched_folder: str = ""
    """The command is ended when it fills this folder to more than `folder_bytes`."""
    folder_bytes: int = 0
    afterwards: Sequence[str] = ()
    """A program that is run once everything has ended, such as the one that removes a container."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))
