"""Working files that a crash left behind: those of completed runs go, all others stay."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from colleague.clock import MovableClock
from colleague.experts.workspace.cleanup import remove_leftovers
from colleague.experts.workspace.workspace import Workspace
from colleague.store.accept import Arrival, accept
from colleague.store.claims import end_run
from colleague.store.run import Outcome, lock_run
from colleague.store.tx import Database, Tx
from colleague.store.versions import Author, FileKey, record_version
from tests.integration.store.databases import Opener

EXPERT = "clerk"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.of(tmp_path / "workspace", EXPERT)


def write(workspace: Workspace, path: str) -> None:
    file = workspace.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("text\n")


def run_that_wrote(tx: Tx, path: str, outcome: Outcome | None) -> str:
    run_id = str(accept(tx, Arrival(EXPERT, "test", "test", "{}", "s", lane=None)).run_id)
    record_version(tx, FileKey(EXPERT, path), b"text\n", Author(run_id, f"call of {run_id}"))
    if outcome is not None:
        end_run(tx, lock_run(tx, run_id), outcome)
    return run_id


def left(workspace: Workspace) -> set[str]:
    files = (path for path in workspace.root.rglob("*") if path.is_file())
    return {path.relative_to(workspace.root).as_posix() for path in files}


def swept(opener: Opener, workspace: Workspace, *written: tuple[str, Outcome | None]) -> set[str]:
    """Runs that wrote these files and ended like this, a crash, and a start."""

    async def story() -> None:
        database: Database = opener(MovableClock())
        for path, outcome in written:
            run_id = await database.write(lambda tx, it=(path, outcome): run_that_wrote(tx, *it))  # type: ignore[misc]
            write(workspace, path)
            write(workspace, f"sessions/{run_id}/state/today.md")
        await remove_leftovers(database, workspace.root.parents[1])
        await database.close()

    asyncio.run(story())
    return {path for path in left(workspace) if not path.startswith("sessions/")}


def test_what_a_completed_run_wrote_goes(opener: Opener, workspace: Workspace) -> None:
    assert swept(opener, workspace, ("scratch/a/b.md", "completed"), ("state/kept.md", "completed")) == {
        "state/kept.md"
    }
    assert left(workspace) == {"state/kept.md"}
    assert list(workspace.scratch.iterdir()) == []


@pytest.mark.parametrize("outcome", [None, "failed", "dead_letter", "abandoned", "cancelled"])
def test_what_may_be_needed_again_stays(
    opener: Opener, workspace: Workspace, outcome: Outcome | None
) -> None:
    assert swept(opener, workspace, ("scratch/a.md", outcome)) == {"scratch/a.md"}
    assert len(left(workspace)) == 2


def test_what_a_later_run_wrote_over_it_stays(opener: Opener, workspace: Workspace) -> None:
    assert swept(opener, workspace, ("scratch/a.md", "completed"), ("scratch/a.md", None)) == {"scratch/a.md"}


def test_what_nobody_knows_stays(opener: Opener, workspace: Workspace) -> None:
    write(workspace, "scratch/by-hand.md")
    write(workspace, "sessions/unknown/state/today.md")
    assert swept(opener, workspace) == {"scratch/by-hand.md"}
    assert len(left(workspace)) == 2


def test_a_home_without_experts(opener: Opener, workspace: Workspace) -> None:
    assert swept(opener, workspace) == set()
