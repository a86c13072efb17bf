from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.gateway.harness import House, Running


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "home").furnish()


@pytest.fixture
def gateway(house: House) -> Iterator[Running]:
    with house.open() as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One gateway for all the tests of a module that only look."""
    with House(tmp_path_factory.mktemp("house") / "home").furnish().open() as running:
        yield running
