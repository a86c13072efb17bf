"""Moving what commands changed in files from state/audit.jsonl into the audit log."""

from __future__ import annotations

import asyncio
import logging

from colleague.audit_file import AuditFile, CommandChange, changes_in
from colleague.errors import DatabaseUnavailable, HomeBusy
from colleague.home import Home
from colleague.store.audit import note_command
from colleague.store.tx import Database, Tx

log = logging.getLogger(__name__)


async def take_in_changes(home: Home, database: Database) -> None:
    """The lines go only after the commit. What cannot be done now is done at the next look."""
    file = AuditFile.of(home)
    try:
        lines = await asyncio.to_thread(file.read)
        if lines:
            await database.write(lambda tx: _note_all(tx, changes_in(lines)))
            await asyncio.to_thread(file.forget, lines)
    except (OSError, HomeBusy, DatabaseUnavailable) as error:
        log.warning("changes by commands wait in %s: %s", file.path, error)


def _note_all(tx: Tx, changes: list[CommandChange]) -> None:
    for change in changes:
        note_command(tx, change)
