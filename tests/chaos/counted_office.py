"""The demo office as a server that outlives the processes which are killed, with its effects counted."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.process import DONE, MEETING, PLANNED, REPLY, STAGE_NOTE
from tests.integration.mcp.support import free_port, listening
from tests.office import SERVER

_NOTES = "SELECT count(*) FROM notes WHERE note = ?"
_EFFECTS = {
    "create_note, planned": (_NOTES, (PLANNED,)),
    "create_note, done": (_NOTES, (DONE,)),
    "update_deal_stage": (_NOTES, (STAGE_NOTE,)),
    "add_reply": ("SELECT count(*) FROM messages WHERE text = ?", (REPLY,)),
    "schedule_meeting": ("SELECT count(*) FROM meetings WHERE title = ?", (MEETING,)),
}


@dataclass(frozen=True)
class CountedOffice:
    """Reading a deal fails once. Without keys a call that comes twice has its effect twice."""

    url: str
    database: Path
    honours_keys: bool
    new: sqlite3.Connection

    @property
    def effects(self) -> dict[str, int]:
        """How often each effect is in the office's books."""
        with closing(sqlite3.connect(self.database)) as db:
            return {name: db.execute(*each).fetchone()[0] for name, each in _EFFECTS.items()}

    @property
    def received(self) -> Counter[str]:
        """How often each operation changed something."""
        with closing(sqlite3.connect(self.database)) as db:
            return Counter(row[0] for row in db.execute("SELECT operation FROM ledger"))

    def begin_anew(self) -> None:
        """As on its first day."""
        with closing(sqlite3.connect(self.database, timeout=120)) as db:
            self.new.backup(db)


@contextmanager
def open_office(folder: Path, *, honours_keys: bool) -> Iterator[CountedOffice]:
    port, database = free_port(), folder / "office.sqlite"
    folder.mkdir(parents=True)
    options = ["--database", str(database), "--http", str(port), "--fail", "get_deal=1"]
    options += [] if honours_keys else ["--ignore-keys"]
    with listening(port, [str(SERVER)], *options), closing(sqlite3.connect(":memory:")) as new:
        with closing(sqlite3.connect(database)) as db:
            db.backup(new)
        yield CountedOffice(f"http://127.0.0.1:{port}/mcp", database, honours_keys, new)
