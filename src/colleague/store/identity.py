"""state/database.json: which database a home works with, so that a missing or another one is noticed."""

from __future__ import annotations

import hashlib
import json
from urllib.parse import urlsplit

from colleague.errors import ColleagueError
from colleague.files import write_atomic
from colleague.home import Home
from colleague.store.sql import text
from colleague.store.tx import Tx

SQLITE = "sqlite"


class DatabaseGone(ColleagueError):
    """The database of a home is missing, empty or another one."""


def identify(tx: Tx, fresh: str) -> str:
    """The id of a database; `fresh` becomes it when it has none yet. Inside the caller's transaction."""
    found = tx.one(text("SELECT id FROM database_identity"))
    if found is not None:
        return str(found[0])
    tx.execute(text("INSERT INTO database_identity (id) VALUES (:id)"), {"id": fresh})
    return fresh


def key_of(url: str | None) -> str:
    """Where a database lies, without its password; each has an id of its own."""
    if url is None:
        return SQLITE
    parts = urlsplit(url)
    where = f"{parts.hostname}:{parts.port}{parts.path}?{parts.query}"
    return f"postgresql-{hashlib.sha256(where.encode()).hexdigest()[:16]}"


def known_identity(home: Home, key: str) -> str | None:
    return _read(home).get(key)


def remember_identity(home: Home, key: str, identity: str | None) -> None:
    """With None it is forgotten: whatever is there next is the database of this home."""
    known = _read(home)
    if known.pop(key, None) == identity:
        return
    document = known if identity is None else known | {key: identity}
    write_atomic(home.identity_file, json.dumps(document, indent=2) + "\n", mode=0o600)


def require_file(home: Home) -> None:
    """Raises when the SQLite file that this home worked with is gone or empty."""
    file = home.database_file
    if known_identity(home, SQLITE) is None or (file.exists() and file.stat().st_size > 0):
        return
    what = f"{file} is empty" if file.exists() else f"{file} is gone"
    raise DatabaseGone(f"{what}, so the runs, approvals and schedules of this home are lost", hint=CURE)


def require_same(home: Home, key: str, identity: str) -> None:
    """Raises when this is not the database that the home worked with; a first one is remembered."""
    known = known_identity(home, key)
    if known is None:
        remember_identity(home, key, identity)
    elif known != identity:
        raise DatabaseGone("the database is not the one that this home worked with", hint=CURE)


CURE = (
    "put it back (colleague db restore FILE), or go on without it: colleague db new, "
    "or colleague serve --new-database"
)


def _read(home: Home) -> dict[str, str]:
    try:
        document = json.loads(home.identity_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in document.items()} if isinstance(document, dict) else {}
