"""How the auth profiles of providers have done: last use, failures, cooldowns, and the order people set."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from colleague.store.record import columns_of, record
from colleague.store.sql import bindparam, delete, select
from colleague.store.tables import auth_orders, auth_profiles
from colleague.store.tx import Tx

MINUTE_MS = 60_000
COOLDOWNS_MS = tuple(minutes * MINUTE_MS for minutes in (1, 5, 25, 60))
SHORTEST_MS = 1_000
FORGIVEN_MS = 24 * 60 * MINUTE_MS
"""A profile that has not failed for so long begins with the shortest cooldown again."""
EVERY_MODEL = ""


@dataclass(frozen=True)
class ProfileStats:
    """One row of `auth_profiles`: a profile with one model, or with all of them. Times in milliseconds."""

    profile: str
    model: str
    last_used: int | None
    last_good: int | None
    last_failed: int | None
    cooldown_until: int | None
    reason: str | None
    error_count: int
    failures: str

    @property
    def failure_counts(self) -> dict[str, int]:
        counts: dict[str, int] = json.loads(self.failures)
        return counts

    def rests(self, now: int) -> bool:
        return self.cooldown_until is not None and self.cooldown_until > now


@dataclass(frozen=True)
class ProfileBook:
    """What is known of profiles at one moment."""

    now: int
    stats: Sequence[ProfileStats] = ()
    orders: Mapping[str, tuple[str, ...]] | None = None
    """By provider, for the agent that was asked about."""

    def resting(self, profile: str, model: str) -> ProfileStats | None:
        """The cooldown of a profile with this model that ends last; None when it is free."""
        found = [each for each in self._of(profile, model) if each.rests(self.now)]
        return max(found, key=lambda each: each.cooldown_until or 0, default=None)

    def last_used(self, profile: str) -> int:
        return max((each.last_used or 0 for each in self.stats if each.profile == profile), default=0)

    def _of(self, profile: str, model: str) -> list[ProfileStats]:
        return [each for each in self.stats if each.profile == profile and each.model in (model, EVERY_MODEL)]


_STATS = select(*columns_of(ProfileStats, auth_profiles)).order_by(
    auth_profiles.c.profile, auth_profiles.c.model
)
_ORDERS = select(auth_orders.c.provider, auth_orders.c.profiles).where(
    auth_orders.c.agent_id == bindparam("agent")
)


def read_book(tx: Tx, profiles: Collection[str] | None = None, agent_id: str = "") -> ProfileBook:
    """Of these profiles, or of all; with the orders that a person has set for this agent."""
    rows = (
        tx.rows(_STATS)
        if profiles is None
        else tx.all(_STATS.where(auth_profiles.c.profile.in_(list(profiles))))
    )
    stats = [record(ProfileStats, row) for row in rows]
    return ProfileBook(tx.now, stats, orders_of(tx, agent_id) if agent_id else None)


def note_used(tx: Tx, profile: str, model: str) -> None:
    """It has answered: whatever was wrong with it is over."""
    for each in (
        EVERY_MODEL,
        model,
    ):  # in this order, so that two who note at once do not wait for each other
        row = _row(tx, profile, each)
        over = {"error_count": 0, "cooldown_until": None, "reason": None}
        tx.update(auth_profiles, _key(row), last_used=tx.now, last_good=tx.now, **over)


def note_failed(
    tx: Tx, profile: str, model: str, reason: str, retry_after_ms: int | None = None
) -> ProfileStats:
    """Puts a profile aside: for as long as the provider asked, else for longer each time it fails in a row.

    Requests that fail at the same time count as one failure."""
    row = _row(tx, profile, model)
    rests = row.rests(tx.now)
    forgiven = row.last_failed is not None and tx.now - row.last_failed > FORGIVEN_MS
    count = row.error_count if rests else (0 if forgiven else row.error_count) + 1
    until = tx.now + _cooldown_ms(max(count, 1), retry_after_ms)
    if rests and retry_after_ms is None:
        until = row.cooldown_until or until
    counts = row.failure_counts
    counts[reason] = counts.get(reason, 0) + 1
    tx.update(
        auth_profiles,
        _key(row),
        last_used=tx.now,
        last_failed=tx.now,
        cooldown_until=max(until, row.cooldown_until or 0),
        reason=reason,
        error_count=count,
        failures=json.dumps(counts),
    )
    [changed] = tx.find(ProfileStats, auth_profiles, _key(row))
    return changed


def _cooldown_ms(count: int, retry_after_ms: int | None) -> int:
    if retry_after_ms is not None:
        return max(retry_after_ms, SHORTEST_MS)
    return COOLDOWNS_MS[min(count, len(COOLDOWNS_MS)) - 1]


def clear_cooldowns(tx: Tx, profiles: Iterable[str]) -> list[str]:
    """Lets profiles be tried at once; the names of those that were at rest."""
    cleared = []
    for profile in profiles:
        rows = tx.find(ProfileStats, auth_profiles, {"profile": profile})
        if any(row.rests(tx.now) for row in rows):
            cleared.append(profile)
        for row in rows:
            tx.update(auth_profiles, _key(row), cooldown_until=None, reason=None, error_count=0)
    return cleared


def forget_profile(tx: Tx, profile: str) -> None:
    """Its statistics go with it."""
    tx.execute(delete(auth_profiles).where(auth_profiles.c.profile == profile))


def orders_of(tx: Tx, agent_id: str) -> dict[str, tuple[str, ...]]:
    """By provider, as a person has set them for this agent."""
    return {provider: tuple(json.loads(profiles)) for provider, profiles in tx.rows(_ORDERS, agent=agent_id)}


def set_order(tx: Tx, agent_id: str, provider: str, profiles: Sequence[str]) -> None:
    """No profiles: the settings decide again."""
    key = {"agent_id": agent_id, "provider": provider}
    if not profiles:
        which = (auth_orders.c.agent_id == agent_id) & (auth_orders.c.provider == provider)
        tx.execute(delete(auth_orders).where(which))
        return
    text = json.dumps(list(profiles), ensure_ascii=False)
    tx.insert_once(auth_orders, **key, profiles=text)
    tx.update(auth_orders, key, profiles=text)


def _row(tx: Tx, profile: str, model: str) -> ProfileStats:
    """Made when it is not there; locked until the commit."""
    key = {"profile": profile, "model": model}
    tx.insert_once(auth_profiles, **key, error_count=0, failures="{}")
    [row] = tx.find(ProfileStats, auth_profiles, key, lock=True)
    return row


def _key(row: ProfileStats) -> dict[str, str]:
    return {"profile": row.profile, "model": row.model}
