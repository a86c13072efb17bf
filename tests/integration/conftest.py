"""Both databases, for real: SQLite in a file, PostgreSQL in a server of its own."""

from tests.integration.store.databases import opener, postgres_url

__all__ = ["opener", "postgres_url"]
