"""What can go wrong, as one sentence a person can act on."""

from __future__ import annotations


class ColleagueError(Exception):
    """An error for a person: what is wrong, where, and the next thing to do. `code` is for programs."""

    code: str = "conflict"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def sentence(self) -> str:
        """What is wrong, and in brackets the next thing to do."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(ColleagueError):
    """The command was typed in a way that makes no sense."""

    code = "bad-request"
    exit_code = 2


class Declined(ColleagueError):
    """A person said no, or nobody was there to say yes."""

    code = "declined"


class NotFound(ColleagueError):
    """The thing that was named does not exist."""

    code = "not-found"


UNSET_CURE = " in the environment or in the home's .env, and start again"
"""After "set NAME": a process sees only the variables that it was started with."""


class ConfigError(ColleagueError):
    """A settings file cannot be used."""

    code = "misconfigured"


class PackageError(ColleagueError):
    """A package cannot be read, installed or updated."""

    code = "package-invalid"


class BindingsError(ColleagueError):
    """A bindings.yaml cannot be used."""


class HomeBusy(ColleagueError):
    """Another process is changing this home."""

    code = "busy"
    exit_code = 3


class GatewayUnreachable(ColleagueError):
    """The gateway holds this home and does not answer."""

    exit_code = 3


class DatabaseUnavailable(Exception):
    """The database cannot be used at this moment; what was asked of it has not happened.

    Not a ColleagueError: those end a run as failed, and this is no fault of any run."""

    code = "database-unavailable"
    exit_code = 3

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CommitUnknown(DatabaseUnavailable):
    """The connection was lost during a commit, and nobody can tell whether it happened."""
