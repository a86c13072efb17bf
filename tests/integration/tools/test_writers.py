"""Several runs write to one file at once, and no line is lost."""

from __future__ import annotations

import itertools
import random
import threading

import pytest

from tests.integration.tools.desk import Desk
from tests.integration.tools.processes import SHARED, add_lines

LINES = 8


def in_threads(desk: Desk, names: str) -> None:
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            add_lines(desk, name, LINES)
        except BaseException as error:  # noqa: BLE001 - the test wants to see it, whatever it is
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def in_processes(desk: Desk, names: str) -> None:
    processes = [desk.start_process(add_lines, name, LINES) for name in names]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)


@pytest.mark.parametrize("together", [in_threads, in_processes])
@pytest.mark.parametrize("names", ["ab", "abcd"])
def test_no_line_is_lost(desk: Desk, together, names: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001, RUF100
    desk.file(SHARED).write_text("begin\n")
    together(desk, names)
    wanted = sorted(f"{name} {number}" for name in names for number in range(LINES))
    text = desk.file(SHARED).read_text()
    assert sorted(text.splitlines()[1:]) == wanted

    versions = desk.versions(SHARED)
    assert [version.number for version in versions] == list(range(1, len(wanted) + 2))
    assert versions[0].text == "begin\n"
    assert versions[-1].text == text
    for before, after in itertools.pairwise(versions):
        added = set(after.text.splitlines()) - set(before.text.splitlines())
        assert len(added) == 1
        assert len(after.text.splitlines()) == len(before.text.splitlines()) + 1

    for version in random.Random(7).sample(versions, 4):
        desk.run(lambda session, version=version: session.files.restore(SHARED, version.number))
        assert desk.file(SHARED).read_text() == version.text
    assert [version.text for version in desk.versions(SHARED)][: len(versions)] == [
        each.text for each in versions
    ]
