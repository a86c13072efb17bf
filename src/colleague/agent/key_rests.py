"""Which keys rest, as the database knows it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

from colleague.agent.models.connections import Connections
from colleague.agent.models.failover import Cooldown
from colleague.agent.models.failure import KEYS_OWN, ModelFailure
from colleague.agent.models.resolved import ResolvedModel
from colleague.errors import DatabaseUnavailable
from colleague.store.auth_profiles import EVERY_MODEL, ProfileBook, note_failed, note_used, read_book
from colleague.store.tx import Database

NOTED_SECONDS = 60.0
"""A key that goes on answering is written down so often, not with every answer."""


@dataclass(frozen=True)
class StoredKeyRests:
    """Models without a key, such as scripts and local servers, rest as well: under the name of the model."""

    database: Database
    connections: Connections

    async def rests(self, models: Sequence[ResolvedModel]) -> list[Cooldown | None]:
        """While the database is away, nothing rests."""
        names = {_subject(model) for model in models}
        try:
            book = await self.database.read(lambda tx: read_book(tx, names))
        except DatabaseUnavailable:
            return [None] * len(models)
        found = [_rest(book, model) for model in models]
        for model, rest in zip(models, found, strict=True):
            if rest is not None:
                self.connections.rested.add(_key(model))
        return found

    async def note_failed(self, model: ResolvedModel, failure: ModelFailure) -> Cooldown | None:
        which = EVERY_MODEL if failure.reason in KEYS_OWN and model.profile else model.name
        asked = None if failure.retry_after is None else round(failure.retry_after * 1000)
        self.connections.rested.add(_key(model))
        try:
            noted = await self.database.write(
                lambda tx: note_failed(tx, _subject(model), which, failure.reason, asked)
            )
        except DatabaseUnavailable:
            return None
        return Cooldown(noted.cooldown_until or 0, failure.reason)

    async def note_used(self, model: ResolvedModel) -> None:
        """At once after it rested; else now and then."""
        key, now = _key(model), time.monotonic()
        noted = self.connections.noted_uses
        rested = key in self.connections.rested
        if not rested and (model.stand_in or now - noted.get(key, -NOTED_SECONDS) < NOTED_SECONDS):
            return
        noted[key] = now
        self.connections.rested.discard(key)
        with contextlib.suppress(DatabaseUnavailable):
            await self.database.write(lambda tx: note_used(tx, *key))


def _key(model: ResolvedModel) -> tuple[str, str]:
    return _subject(model), model.name


def _subject(model: ResolvedModel) -> str:
    return model.profile or model.name


def _rest(book: ProfileBook, model: ResolvedModel) -> Cooldown | None:
    found = book.resting(_subject(model), model.name)
    return Cooldown(found.cooldown_until or 0, found.reason or "") if found else None
