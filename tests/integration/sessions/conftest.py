"""Fixtures of sessions: both databases."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.store.databases import Opener, new_database, opener, postgres_url

__all__ = ["Opener", "opener", "postgres_url"]


@pytest.fixture(params=["sqlite", "postgresql"])
def experts(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The settings of experts, with the database of the test."""
    if request.param == "sqlite":
        yield {}
        return
    with new_database(request.getfixturevalue("postgres_url")) as url:
        yield {"database": url}
