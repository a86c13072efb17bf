"""What other processes do at a desk: write beside each other, and die."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.integration.tools.desk import Desk, Session

SHARED = "state/shared.md"


def die_in_a_call(desk: Desk, failpoint: str, name: str, call_id: str, arguments: dict[str, Any]) -> None:
    """Makes one call and is killed in it."""
    os.environ["COLLEAGUE_FAILPOINT"] = failpoint
    desk.call(name, call_id=call_id, **arguments)


def add_lines(desk: Desk, name: str, count: int) -> None:
    """A run that adds lines to a file others write to as well, by edit and by write in turn."""

    async def add(session: Session) -> None:
        for number in range(count):
            line = f"{name} {number}\n"
            while not await (by_edit if number % 2 else by_write)(session, line):
                continue

    desk.run(add, run_id=f"run-{name}")


async def by_write(session: Session, line: str) -> bool:
    text = await session.ok("read", path=SHARED)
    output = await session.call("write", path=SHARED, text=text + line)
    assert not output.is_error or "has not seen its present text" in output.text, output.text
    return not output.is_error


async def by_edit(session: Session, line: str) -> bool:
    last = (await session.ok("read", path=SHARED)).splitlines(keepends=True)[-1]
    await session.ok("edit", path=SHARED, edits=[{"old": last, "new": last + line}])
    return True


def add_lines_with_a_journal(desk: Desk, journal: Path, count: int) -> None:
    """The same, alone, and as the loop does it: started, done, finished. To be killed at any moment."""

    async def add(session: Session) -> None:
        for number, state, prepared in read_journal(journal):
            if state == "started":
                output = await session.recover("edit", prepared, **numbered_edit(number))
                assert not output.is_error, output.text
                note(journal, number, "finished")
        for number in range(len(read_journal(journal)), count):
            edit = numbered_edit(number)
            note(journal, number, "started", await session.prepare("edit", **edit))
            output = await session.call("edit", **edit)
            assert not output.is_error, output.text
            note(journal, number, "finished")

    desk.run(add)


def numbered_edit(number: int) -> dict[str, Any]:
    edits = [{"old": "end\n", "new": f"{number}\nend\n"}]
    return {"call_id": f"call-{number}", "path": SHARED, "edits": edits}


def note(journal: Path, number: int, state: str, prepared: str = "") -> None:
    with journal.open("a") as file:
        file.write(json.dumps([number, state, prepared]) + "\n")


def read_journal(journal: Path) -> list[tuple[int, str, str]]:
    """The last state of each call; a line that was cut off was never written."""
    calls: dict[int, tuple[int, str, str]] = {}
    for line in journal.read_text().splitlines() if journal.exists() else []:
        number, state, prepared = json.loads(line)
        calls[number] = (number, state, prepared)
    return list(calls.values())
