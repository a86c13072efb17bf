"""Finding an expert by its name."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from colleague.errors import NotFound, PackageError
from colleague.experts.bindings import read_bindings
from colleague.experts.expert import discover, find_expert
from colleague.home import Home
from colleague.packages.finding import Findings
from colleague.packages.package import read_package
from tests.nobody import as_nobody


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    for name in ("sales", "support"):
        home.expert(name).mkdir(parents=True)
        (home.expert(name) / "expert.yaml").write_text("name: x")
    return home


def test_it_is_found_by_its_exact_name(home: Home) -> None:
    assert find_expert(home, "sales").folder == home.expert("sales")
    for name in ("Sales", "sale", "", ".", "..", "../experts/sales", "sales/", ".staging", "/etc"):
        with pytest.raises(NotFound):
            find_expert(home, name)


def test_another_that_is_broken_is_in_nobodys_way(home: Home) -> None:
    home.expert("broken").mkdir()
    (home.expert("broken") / "link.json").write_text("{")
    assert find_expert(home, "sales").name == "sales"
    assert [each.name for each in discover(home)] == ["broken", "sales", "support"]
    broken = find_expert(home, "broken")
    [found] = broken.read().findings
    assert (found.code, found.file) == ("pointer-broken", "link.json")
    assert broken.read_manifest() is None
    with pytest.raises(PackageError, match="does not say where the package is"):
        broken.load()


def test_one_that_may_not_be_read_is_in_nobodys_way() -> None:
    """It is listed, and reading it says why."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        home = Home(Path(folder))
        for name in ("closed", "sales"):
            home.expert(name).mkdir(parents=True)
            (home.expert(name) / "expert.yaml").write_text("name: x")
            (home.expert(name) / "bindings.yaml").write_text("tools: {}")
        read_package(home.expert("sales"))  # imports what it needs while it may
        home.expert("closed").chmod(0)
        with as_nobody():
            closed, sales = discover(home)
            [problem] = closed.read().findings
            bindings = Findings()
            read_bindings(closed.bindings_file, bindings)
            manifest = sales.read_manifest()
        home.expert("closed").chmod(0o700)
    assert (problem.code, problem.file) == ("file-unreadable", "expert.yaml")
    assert [each.code for each in bindings] == ["file-unreadable"]
    assert manifest is not None


def test_no_home_at_all(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no expert 'sales'"):
        find_expert(Home(tmp_path / "nowhere"), "sales")
