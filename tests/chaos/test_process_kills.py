"""A whole process, killed with -9 at commits, around effects, files and deliveries, and started again.

It makes five effects, fails once and is retried, waits for a yes, and has an isolated function that waits for
one of its own. Once with an office that honours idempotency keys, where the operator has every uncertain call
sent again without looking; once with one that ignores them, where the operator looks into its books."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from colleague.home import Home
from colleague.store.ids import new_id
from tests.chaos.counted_office import CountedOffice, open_office
from tests.chaos.ending import check_end
from tests.chaos.process import REPLIES, make_home, write_package, write_settings
from tests.chaos.working import KILLED, Operator, asked, trouble, work
from tests.integration.store.databases import new_database

LONG = bool(os.environ.get("COLLEAGUE_LONG"))
SQLITE = {
    True: ["call.done@13", "file.version.after@3"],
    False: ["call.done@8", "commit.after@90"],
}
POSTGRESQL = {True: ["call.done@16", "call.done@17"], False: ["call.started@14"]}
"""Where the short run kills, when keys are honoured and when they are not. A worker that was slow and took up
its run again counts a call less: the effects at 16 and 17 stand beside each other."""
LONG_AGAIN = ("call.started@2", "call.done@2", "call.finished@1", "commit.before@25", "commit.after@40")
AGAIN = LONG_AGAIN if LONG else ("call.done@8",)
"""Where every process dies that works on a run, one after another; each gets a little further."""


@dataclass(frozen=True)
class Place:
    """Where a run is made anew for each kill."""

    folder: Path
    office: CountedOffice
    postgres: str = ""

    @property
    def operator(self) -> Operator:
        return Operator(self.office.database, careful=not self.office.honours_keys)

    @contextmanager
    def home(self) -> Iterator[Home]:
        self.office.begin_anew()
        home = Home(self.folder / new_id())
        with self._database() as database:
            shutil.copytree(self.folder / "template", home.root)
            write_settings(home, self.office.url, database)
            yield home
        shutil.rmtree(home.root)

    @contextmanager
    def _database(self) -> Iterator[str]:
        if not self.postgres:
            yield ""
            return
        with new_database(self.postgres) as url:
            yield url

    def points(self) -> list[str]:
        """Every place at which the whole process can die, in the order in which it comes there."""
        with self.home() as home:
            log = home.root / "points"
            assert work(home, self.operator, log=log) == 0, trouble(home)
            assert check_end(home, self.office) == 0
            return log.read_text().splitlines()

    def kill_at(self, point: str) -> tuple[bool, int]:
        """Whether the process came there, and how often a person was asked what had happened."""
        print(point)
        with self.home() as home:
            code = work(home, self.operator, kill=point)
            assert code in (KILLED, 0), trouble(home)
            if code == KILLED:
                assert work(home, self.operator) == 0, trouble(home)
            questions = check_end(home, self.office)
            # An answer that was not yet committed when the process died is asked for again.
            assert len(asked(home)) <= len(REPLIES) + 1
        return code == KILLED, questions

    def kill_at_all(self, points: list[str]) -> None:
        """How often the sweep commits depends on the time, so the last few commits may not come."""
        ends = [self.kill_at(point) for point in points]
        reached, questions = sum(came for came, _ in ends), sum(often for _, often in ends)
        assert reached >= len(points) - len(points) // 20
        assert questions, "no kill came between an effect and its answer"
        where = "PostgreSQL" if self.postgres else "SQLite"
        keys = "honoured" if self.office.honours_keys else "ignored"
        print(f"killed at {reached} of {len(points)} points on {where}, keys {keys}: asked {questions} times")


@pytest.fixture(scope="module", params=["honoured", "ignored"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("process")
    make_home(folder / "template", write_package(folder / "package"))
    with open_office(folder / "office", honours_keys=request.param == "honoured") as office:
        yield Place(folder, office)


def test_killed_on_sqlite(place: Place) -> None:
    place.kill_at_all(place.points() if LONG else SQLITE[place.office.honours_keys])


def test_killed_on_postgresql(place: Place, postgres_url: str) -> None:
    shared = replace(place, postgres=postgres_url)
    shared.kill_at_all(shared.points() if LONG else POSTGRESQL[place.office.honours_keys])


@pytest.mark.parametrize("point", AGAIN)
def test_killed_again_and_again(place: Place, point: str) -> None:
    """What mends a crash dies, too."""
    with place.home() as home:
        lives, code = 0, KILLED
        while code == KILLED and lives < 100:
            lives, code = lives + 1, work(home, place.operator, kill=point)
        assert code == 0, trouble(home)
        questions = check_end(home, place.office)
    print(f"{lives} lives, each until {point}: asked {questions} times")
