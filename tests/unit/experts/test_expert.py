"""Finding an expert by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from colleague.errors import NotFound, PackageError
from colleague.experts.expert import find_expert
from colleague.home import Home


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
    with pytest.raises(PackageError, match="does not say where the package is"):
        find_expert(home, "broken")


def test_no_home_at_all(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no expert 'sales'"):
        find_expert(Home(tmp_path / "nowhere"), "sales")
