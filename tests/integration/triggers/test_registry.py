"""The triggers of a home as they are now, read again when a file changes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from colleague.errors import NotFound
from colleague.experts.registry import Record, write_record
from colleague.home import Home
from colleague.packages.names import LINK
from colleague.packages.package import read_package
from colleague.packages.snapshot import take_snapshot
from colleague.triggers.registry import Inactive, TriggerRegistry
from tests.integration.experts.package import CLERK, Package
from tests.integration.triggers.desk import Desk, cron, webhook


@pytest.fixture
def here(tmp_path: Path) -> Desk:
    """Without a database: wiring needs none."""
    return Desk(tmp_path / "home", lambda _: pytest.fail("nobody opens it"))


def names(wiring: TriggerRegistry) -> list[str]:
    return [wired.trigger.name for wired in wiring.all()]


def test_a_change_of_the_package_or_the_bindings_counts_at_the_next_look(here: Desk) -> None:
    here.employ(webhook())
    wiring = here.registry()
    assert names(wiring) == ["order"]
    here.employ(webhook(), cron("* * * * *"))
    assert names(wiring) == ["order", "tick"]
    (here.home.expert(CLERK) / "bindings.yaml").write_text('{"triggers": {"order": {"max_queued": 7}}}')
    binding = wiring.find(CLERK, "order").binding
    assert binding is not None
    assert binding.max_queued == 7
    here.employ(cron("0 * * * *"))
    assert names(wiring) == ["tick"]


def test_experts_come_and_go(here: Desk) -> None:
    import shutil

    here.employ(webhook())
    wiring = here.registry()
    here.employ(webhook("other"), name="second")
    assert names(wiring) == ["order", "other"]
    shutil.rmtree(here.home.expert(CLERK))
    assert names(wiring) == ["other"]


def broken_manifest(folder: Path) -> None:
    (folder / "expert.yaml").write_text("spec: [")


def broken_process(folder: Path) -> None:
    (folder / "processes/work.md").unlink()


def broken_bindings(folder: Path) -> None:
    (folder / "bindings.yaml").write_text("triggers: 5")


@pytest.mark.parametrize("spoil", [broken_manifest, broken_process, broken_bindings])
def test_a_broken_expert_keeps_its_triggers_and_is_told(here: Desk, spoil: Callable[[Path], None]) -> None:
    folder = here.employ(webhook())
    here.employ(webhook("other"), name="second")
    wiring = here.registry()
    before = wiring.find(CLERK, "order")
    spoil(folder)
    assert wiring.find(CLERK, "order") == before
    assert list(wiring.problems) == [CLERK]
    assert wiring.find("second", "other").problem == ""
    here.employ(webhook(), cron("* * * * *"))
    assert wiring.problems == {}
    assert names(wiring) == ["order", "tick", "other"] or names(wiring) == ["other", "order", "tick"]


def test_an_expert_that_was_broken_from_the_start_is_told(here: Desk) -> None:
    broken_manifest(here.employ(webhook()))
    wiring = here.registry()
    assert names(wiring) == []
    assert CLERK in wiring.problems


def test_disabled_triggers_do_not_fire_and_say_what_to_do(here: Desk) -> None:
    here.employ(webhook(), enabled=False)
    wiring = here.registry()
    with pytest.raises(Inactive) as off:
        wiring.find(CLERK, "order").require_active()
    assert off.value.hint == f"colleague expert enable {CLERK}"
    here.enable()
    wiring.find(CLERK, "order").require_active()
    here.enable(enabled=False)
    with pytest.raises(Inactive):
        wiring.find(CLERK, "order").require_active()


def test_disabling_counts_also_when_the_package_cannot_be_read(here: Desk) -> None:
    folder = here.employ(webhook())
    wiring = here.registry()
    wiring.find(CLERK, "order").require_active()
    broken_manifest(folder)
    wiring.find(CLERK, "order").require_active()
    here.enable(enabled=False)
    with pytest.raises(Inactive):
        wiring.find(CLERK, "order").require_active()


def test_a_linked_package_is_read_again_when_its_author_saves(here: Desk, tmp_path: Path) -> None:
    source = tmp_path / "source"
    Package(manifest={"triggers": [webhook()]}).write(source)
    folder = here.home.expert(CLERK)
    folder.mkdir(parents=True)
    (folder / LINK).write_text(json.dumps({"path": str(source)}))
    accept(here, source)
    wiring = here.registry()
    assert names(wiring) == ["order"]
    Package(manifest={"triggers": [webhook(), webhook("renamed")]}).write(source)
    assert names(wiring) == ["order", "renamed"]
    with pytest.raises(Inactive, match="nobody has accepted the trigger renamed"):
        wiring.find(CLERK, "renamed").require_active()
    wiring.find(CLERK, "order").require_active()
    accept(here, source)
    wiring.find(CLERK, "renamed").require_active()


def test_a_trigger_that_wakes_in_another_way_wakes_as_it_was_accepted(here: Desk, tmp_path: Path) -> None:
    source = tmp_path / "source"
    Package(manifest={"triggers": [webhook()]}).write(source)
    folder = here.home.expert(CLERK)
    folder.mkdir(parents=True)
    (folder / LINK).write_text(json.dumps({"path": str(source)}))
    accept(here, source)
    Package(manifest={"triggers": [webhook(session="main", description="Other words")]}).write(source)
    wired = here.registry().find(CLERK, "order")
    assert wired.trigger.session == "isolated"
    wired.require_active()


def accept(here: Desk, source: Path) -> None:
    """As a person does with `expert install --link` and `expert update`."""
    package = read_package(source).package
    assert package is not None
    take_snapshot(package, here.home.snapshots)
    write_record(here.home, CLERK, Record(enabled=True, digest=package.digest))


def test_a_trigger_waits_for_the_tool_it_needs(here: Desk) -> None:
    here.employ(webhook(requires_tool="crm"))
    wired = here.registry().find(CLERK, "order")
    assert "crm" in wired.problem
    assert "expert bind" in wired.hint


def test_who_is_not_there_is_told_what_is(here: Desk) -> None:
    here.employ(webhook())
    wiring = here.registry()
    with pytest.raises(NotFound) as unknown:
        wiring.find("clark", "order")
    assert CLERK in unknown.value.hint
    with pytest.raises(NotFound) as misspelt:
        wiring.find(CLERK, "ordre")
    assert "order" in misspelt.value.hint


def test_thousands_of_lookups_are_cheap(here: Desk) -> None:
    for number in range(5):
        here.employ(webhook(), name=f"clerk{number}")
    wiring = TriggerRegistry(here.home)
    wiring.all()
    started = time.process_time()
    for _ in range(20_000):
        wiring.find("clerk3", "order")
    assert time.process_time() - started < 20


def test_a_home_without_experts_has_no_triggers(tmp_path: Path) -> None:
    assert TriggerRegistry(Home(tmp_path)).all() == []
