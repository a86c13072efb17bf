"""PostgreSQL for the tests that kill."""

from tests.integration.store.databases import postgres_url

__all__ = ["postgres_url"]
