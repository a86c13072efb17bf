"""A home notices when its database is not the one it worked with, on PostgreSQL too."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from colleague.clock import MovableClock
from colleague.config import Settings
from colleague.home import Home
from colleague.store.identity import DatabaseGone, key_of, remember_identity
from colleague.store.open_database import open_database
from tests.integration.store.databases import administer, new_database


def test_an_emptied_postgresql_is_noticed(tmp_path: Path, postgres_url: str) -> None:
    home = Home(tmp_path)
    with new_database(postgres_url) as url:
        settings = Settings.model_validate({"experts": {"database": url}})

        def use() -> None:
            asyncio.run(open_database(home, settings, {}, MovableClock()).close())

        use()
        use()
        administer(url, "DELETE FROM database_identity")
        with pytest.raises(DatabaseGone, match="not the one that this home worked with"):
            use()
        remember_identity(home, key_of(url), None)
        use()


def test_a_password_that_changes_is_no_other_database() -> None:
    one, other = (key_of(f"postgresql://me:{word}@db:5432/colleague") for word in ("old", "new"))
    assert one == other != key_of("postgresql://me:old@db:5432/other")
