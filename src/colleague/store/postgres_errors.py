"""What an error of PostgreSQL means for whoever asked: do it again, wait, or look for a mistake."""

from __future__ import annotations

from urllib.parse import urlsplit

import psycopg

from colleague.errors import DatabaseUnavailable

_MEETINGS = frozenset(("40P01", "40001"))
"""Deadlock and serialization failure."""
_SHUTDOWNS = frozenset(("57P01", "57P02", "57P03", "57P05"))
_CANNOT_NOW = ("53", "58", "25006")
"""Short of something (disk, memory, connections), trouble of its system, or a standby that only reads."""


def is_conflict(error: BaseException) -> bool:
    """Two transactions met head on; this one was rolled back."""
    return getattr(error, "sqlstate", None) in _MEETINGS


def is_connection_lost(error: BaseException) -> bool:
    """The connection was cut, or none could be made."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    state = error.sqlstate
    return state is None or state.startswith("08") or state in _SHUTDOWNS


def cannot_now(error: BaseException) -> bool:
    """The server lives and refuses, for a reason that passes or that its administrator can mend."""
    return (getattr(error, "sqlstate", None) or "").startswith(_CANNOT_NOW)


def unavailable(error: BaseException, url: str) -> DatabaseUnavailable:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    message = f"the database {shown_url(url)} cannot be used: {reason}"
    return DatabaseUnavailable(message, hint="check that PostgreSQL runs, and look at experts.database")


def shown_url(url: str) -> str:
    """Where it is, without who asks and with which password."""
    parts = urlsplit(url)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"
