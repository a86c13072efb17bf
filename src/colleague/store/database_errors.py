"""The errors of whichever database is in use: a process on SQLite does not import PostgreSQL's."""

from __future__ import annotations

import sqlite3
import sys

Errors = tuple[type[Exception], ...]


def database_errors(*others: type[Exception]) -> Errors:
    """What to catch, beside `others`."""
    return (*_errors("Error"), *others)


def integrity_errors(*others: type[Exception]) -> Errors:
    """The same, only for a row that is there already."""
    return (*_errors("IntegrityError"), *others)


def _errors(name: str) -> Errors:
    libraries = (sqlite3, sys.modules.get("psycopg"))
    return tuple(getattr(library, name) for library in libraries if library is not None)
