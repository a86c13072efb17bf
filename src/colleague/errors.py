"""What can go wrong, as one sentence a person can act on."""

from __future__ import annotations


class ColleagueError(Exception):
    """An error for a person: what is wrong, where, and the next thing to do."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(ColleagueError):
    """The command was typed in a way that makes no sense."""

    exit_code = 2


class Declined(ColleagueError):
    """A person said no, or nobody was there to say yes."""


class NotFound(ColleagueError):
    """The thing that was named does not exist."""


class ConfigError(ColleagueError):
    """A settings file cannot be used."""


class PackageError(ColleagueError):
    """A package cannot be read, installed or updated."""


class BindingsError(ColleagueError):
    """A bindings.yaml cannot be used."""


class HomeBusy(ColleagueError):
    """Another process is changing this home."""

    exit_code = 3


class DatabaseUnavailable(Exception):
    """The database cannot be used at this moment; what was asked of it has not happened.

    Not a ColleagueError: those end a run as failed, and this is no fault of any run."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CommitUnknown(DatabaseUnavailable):
    """The connection was lost during a commit, and nobody can tell whether it happened."""
