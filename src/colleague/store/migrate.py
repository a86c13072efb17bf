"""Bringing a database to the version of the code, one numbered file after another."""

from __future__ import annotations

import re
from importlib import resources

from colleague.errors import ColleagueError
from colleague.store.identity import identify
from colleague.store.ids import new_id
from colleague.store.tx import Tx


class NewerDatabase(ColleagueError):
    """The database was written by a newer Colleague."""


def migrations(dialect: str = "sqlite") -> list[tuple[int, str]]:
    """Number and SQL of every migration, in order.

    `0001_name.sql` is for both databases, `0002_name.sqlite.sql` and `0002_name.postgresql.sql` for one."""
    folder = resources.files("colleague.store.migrations")
    files = sorted(
        (file for file in folder.iterdir() if _is_for(file.name, dialect)), key=lambda file: file.name
    )
    return [(int(file.name[:4]), file.read_text(encoding="utf-8")) for file in files]


def _is_for(name: str, dialect: str) -> bool:
    _, *which = name.split(".")
    return which in (["sql"], [dialect, "sql"])


def migrate(tx: Tx, where: str) -> str:
    """Applies what is missing, inside the caller's transaction. Returns the id of the database."""
    connection = tx.connection
    connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
    applied = {row[0] for row in connection.execute("SELECT version FROM schema_version").fetchall()}
    known = migrations("postgresql" if tx.postgresql else "sqlite")
    if max(applied, default=0) > known[-1][0]:
        raise NewerDatabase(
            f"{where} is of version {max(applied)}, this Colleague knows {known[-1][0]}",
            hint="update Colleague, or use another home",
        )
    for number, sql in known:
        if number not in applied:
            for statement in _statements(sql):
                connection.execute(statement)
            connection.execute(f"INSERT INTO schema_version (version) VALUES ({number})")  # noqa: S608 - ours
    return identify(tx, new_id())


def _statements(sql: str) -> list[str]:
    """A statement ends at the end of a line; the lines inside a trigger are indented."""
    lines = [line for line in sql.splitlines() if not line.lstrip().startswith("--")]
    found = re.split(r";\n(?! |END;)", "\n".join(lines))
    return [statement for statement in found if statement.strip(" \n;")]
