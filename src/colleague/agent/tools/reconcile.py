"""At start: files that a crash left behind their newest version."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from colleague.agent.tools.tree import Tree
from colleague.agent.tools.versioned import VersionedTree
from colleague.errors import ColleagueError
from colleague.store.tx import Database
from colleague.store.versions import pending_versions


@dataclass(frozen=True)
class Reconciled:
    """A file that was looked after. `problem` says why it still lags behind, if it does."""

    path: str
    version: int
    problem: str = ""


async def reconcile(tree: Tree, database: Database, *, owner: str, locks: Path) -> list[Reconciled]:
    """Puts recorded versions that never reached their file into it. A person's newer edit stays."""
    files = VersionedTree(tree, database, owner, locks)
    done = []
    for pending in await database.read(lambda tx: pending_versions(tx, owner)):
        problem = ""
        try:
            await files.settle(pending.key.path)
        except ColleagueError as error:
            problem = error.message
        except OSError as error:
            problem = error.strerror or str(error)
        done.append(Reconciled(pending.key.path, pending.number, problem))
    return done
