"""The databases, for the tests in this folder."""

from tests.integration.store.databases import Opener, opener, postgres_url

__all__ = ["Opener", "opener", "postgres_url"]
