"""Finding a row by any unique ending of its id, of at least four characters; or by how the part begins that
lists show."""

from __future__ import annotations

from colleague.errors import NotFound, UsageError
from colleague.run_document import SHOWN
from colleague.store.sql import Expression, Table, select
from colleague.store.tx import Tx

SHORTEST = 4


def full_id(tx: Tx, table: Table, noun: str, ending: str) -> str:
    """The whole id. Raises when nothing, or more than one thing, ends like this."""
    if len(ending) < SHORTEST:
        raise UsageError(
            f"{ending!r} is too short for an id", hint=f"type at least {SHORTEST} characters of its ending"
        )
    rows = tx.all(select(table.c.id).where(_named(table, ending)).limit(3))
    if not rows:
        raise NotFound(f"there is no {noun} {ending!r}", hint=f"see them with: colleague {noun} list")
    if len(rows) > 1:
        raise UsageError(f"more than one {noun} is called {ending!r}", hint="type more of it")
    return str(rows[0][0])


def _named(table: Table, ending: str) -> Expression:
    """Both at once: whoever typed a beginning must not get another row that happens to end with it."""
    ends = table.c.id.endswith(ending)
    missing = SHOWN - len(ending)
    if missing <= 0 or not ending.isalnum():
        return ends
    return ends | table.c.id.like(f"%{ending}{'_' * missing}")
