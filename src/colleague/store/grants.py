"""Standing permissions: they relax `confirm`, never `manual`. Every use is counted.

A grant is bound like an approval: to the server, how that is started or reached, its tool, the tool's schema
and the package. It can also require arguments to be what they were when it was given."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from colleague.errors import NotFound
from colleague.store.call_target import CallTarget, difference_text
from colleague.store.ids import new_id
from colleague.store.record import columns_of, record
from colleague.store.sql import insert, or_, select, update
from colleague.store.tables import grants, is_open, runs
from colleague.store.tx import Tx

UNBOUND = "it was made before grants were bound to a server and a package; give it again"


@dataclass(frozen=True)
class Grant:
    """One row of `grants`. Without a run it holds for every run of the expert.

    `only_arguments` is a JSON object: a call must have these arguments. `lapsed` says that the tool's schema
    was another one at the last call; without the server that cannot be known."""

    id: str
    expert: str
    operation: str
    run_id: str | None
    created_at: int
    created_by: str
    expires_at: int | None
    revoked_at: int | None
    uses: int
    server: str | None
    tool: str | None
    launch_digest: str | None
    schema_digest: str | None
    package_digest: str | None
    only_arguments: str
    approval_id: str | None
    lapsed: str | None

    @property
    def target(self) -> CallTarget | None:
        """None for a grant from before they were bound; it counts for nothing."""
        parts = (self.server, self.tool, self.launch_digest, self.schema_digest, self.package_digest)
        known = [part for part in parts if part is not None]
        return CallTarget(*known) if len(known) == len(parts) else None

    def lapse(self, now: Mapping[str, str]) -> str:
        """Why it no longer counts for this target, or the known parts of one; empty when it does."""
        return UNBOUND if self.target is None else difference_text(self.target, now)

    def has_arguments(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments is within the grant."""
        wanted = json.loads(self.only_arguments)
        return all(name in arguments and _same(arguments[name], wanted[name]) for name in wanted)


@dataclass(frozen=True)
class WantedCall:
    """A call that a grant may spare a question."""

    operation: str
    target: CallTarget
    arguments: Mapping[str, Any]

    def is_covered_by(self, grant: Grant) -> bool:
        if grant.operation != self.operation or not grant.has_arguments(self.arguments):
            return False
        return not grant.lapse(asdict(self.target))


_COLUMNS = columns_of(Grant, grants)


def give_grant(
    tx: Tx,
    expert: str,
    operation: str,
    target: CallTarget,
    *,
    by: str,
    run_id: str | None = None,
    lasts_ms: int | None = None,
    only: Mapping[str, Any] | None = None,
    approval_id: str | None = None,
) -> str:
    """`only`: arguments that a call must have."""
    grant_id = new_id()
    tx.execute(
        insert(grants).values(
            id=grant_id,
            expert=expert,
            operation=operation,
            run_id=run_id,
            created_at=tx.now,
            created_by=by,
            expires_at=None if lasts_ms is None else tx.now + lasts_ms,
            uses=0,
            only_arguments=json.dumps(dict(only or {}), ensure_ascii=False),
            approval_id=approval_id,
            **asdict(target),
        )
    )
    return grant_id


def use_grant(tx: Tx, expert: str, run_id: str, wanted: WantedCall) -> bool:
    """Whether a grant covers this call in this run, now; its use is counted."""
    for grant in live_grants(tx, expert, run_id):
        if wanted.is_covered_by(grant):
            used = {"uses": grants.c.uses + 1, "lapsed": None}
            tx.execute(update(grants).where(grants.c.id == grant.id).values(used))
            return True
    return False


def note_lapsed(tx: Tx, grant_id: str, reason: str) -> None:
    """Keeps why a grant did not count, for whoever looks at it."""
    tx.execute(update(grants).where(grants.c.id == grant_id).values(lapsed=reason))


def live_grants(tx: Tx, expert: str, run_id: str) -> list[Grant]:
    query = select(*_COLUMNS).where(
        grants.c.expert == expert,
        grants.c.revoked_at.is_(None),
        or_(grants.c.run_id.is_(None), grants.c.run_id == run_id),
        or_(grants.c.expires_at.is_(None), grants.c.expires_at > tx.now),
    )
    return [record(Grant, row) for row in tx.all(query)]


def revoke_grant(tx: Tx, grant_id: str) -> None:
    same = (grants.c.id == grant_id, grants.c.revoked_at.is_(None))
    if not tx.changed(update(grants).where(*same).values(revoked_at=tx.now)):
        raise NotFound(f"there is no live grant {grant_id!r}", hint="see them with: colleague grant list")


def get_grant(tx: Tx, grant_id: str) -> Grant:
    found = tx.find(Grant, grants, {"id": grant_id})
    if not found:
        raise NotFound(f"there is no grant {grant_id!r}", hint="see them with: colleague grant list")
    return found[0]


def all_grants(tx: Tx) -> list[Grant]:
    """All of them, the newest first."""
    return [record(Grant, row) for row in tx.all(select(*_COLUMNS).order_by(grants.c.created_at.desc()))]


def ended_runs(tx: Tx, found: Collection[Grant]) -> frozenset[str]:
    """The runs of these grants that have ended, or are gone."""
    wanted = {grant.run_id for grant in found if grant.run_id}
    query = select(runs.c.id).where(runs.c.id.in_(wanted), is_open())
    return frozenset(wanted - {row.id for row in tx.all(query)}) if wanted else frozenset()


def _same(one: Any, other: Any) -> bool:
    """As JSON: true is not 1, though Python takes them for equal."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
