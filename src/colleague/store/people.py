"""People who use the page: what each may do, the links they sign in with, and the browsers they signed in."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from colleague.clock import iso
from colleague.errors import NotFound, UsageError
from colleague.person_document import PersonDocument, Role
from colleague.store.record import columns_of, record
from colleague.store.sql import Select, delete, func, select, update
from colleague.store.tables import browsers, links, people
from colleague.store.tx import Tx

ROLES: tuple[Role, ...] = get_args(Role)
LINK_MS = 24 * 3_600_000
SIGNED_IN_MS = 30 * 24 * 3_600_000
SEEN_EVERY_MS = 60_000
"""How often it is written down that a browser was here."""
MOST_BROWSERS = 50
"""Of one person; the one that was not seen for longest goes."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
OPERATOR = "operator"
"""Whoever has the gateway's own token."""
_RESERVED = (OPERATOR, "api", "main")


@dataclass(frozen=True)
class PersonRow:
    """One row of `people`."""

    name: str
    role: Role
    experts: str | None
    created_at: int
    removed_at: int | None

    @property
    def only(self) -> tuple[str, ...] | None:
        """The experts whose questions an approver may decide; None means all."""
        return None if self.experts is None else tuple(json.loads(self.experts))


@dataclass(frozen=True)
class BrowserRow:
    """One row of `browsers`: a browser that is signed in."""

    hash: str
    person: str
    form_key: str
    agent: str
    created_at: int
    seen_at: int
    expires_at: int


def add_person(tx: Tx, name: str, role: str, experts: Sequence[str] = ()) -> str:
    """Adds or changes somebody; the secret of a link to sign in once. Raises UsageError."""
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise UsageError(f"{name!r} cannot be somebody's name", hint="use letters, digits, dots and dashes")
    if role not in ROLES:
        raise UsageError(f"there is no role {role!r}", hint=f"one of: {', '.join(ROLES)}")
    if experts and role != "approver":
        raise UsageError("only an approver is limited to experts", hint="use --role approver")
    values = {"role": role, "experts": json.dumps(list(experts)) if experts else None, "removed_at": None}
    tx.insert_once(people, name=name, created_at=tx.now, **values)
    tx.execute(update(people).where(people.c.name == name).values(**values))
    return new_link(tx, name)


def new_link(tx: Tx, person: str) -> str:
    """The secret of a link with which somebody signs in once. Raises NotFound."""
    if find_person(tx, person) is None:
        raise _nobody(person)
    return _add_link(tx, "sign-in", person=person, lasts_ms=LINK_MS)


def remove_person(tx: Tx, name: str) -> None:
    """What they decided keeps their name; their browsers and links end. Raises NotFound."""
    if find_person(tx, name) is None:
        raise _nobody(name)
    tx.execute(update(people).where(people.c.name == name).values(removed_at=tx.now))
    tx.execute(delete(links).where(links.c.person == name))
    sign_out_everywhere(tx, name)


def all_people(tx: Tx) -> list[PersonRow]:
    query = select(*columns_of(PersonRow, people)).where(people.c.removed_at.is_(None))
    return [record(PersonRow, row) for row in tx.all(query.order_by(people.c.name))]


def person_documents(tx: Tx) -> list[PersonDocument]:
    query = select(browsers.c.person, func.count().label("open")).where(browsers.c.expires_at > tx.now)
    signed_in = {row.person: row.open for row in tx.all(query.group_by(browsers.c.person))}
    return [
        {
            "name": each.name,
            "role": each.role,
            "experts": None if each.only is None else list(each.only),
            "created_at": iso(each.created_at),
            "browsers": signed_in.get(each.name, 0),
        }
        for each in all_people(tx)
    ]


def find_person(tx: Tx, name: str) -> PersonRow | None:
    query = select(*columns_of(PersonRow, people)).where(people.c.name == name, people.c.removed_at.is_(None))
    row = tx.one(query)
    return record(PersonRow, row) if row is not None else None


def link_person(tx: Tx, secret: str) -> str | None:
    """Whose sign-in link this is; None when it is not one that counts now."""
    row = tx.one(_link_query("sign-in", secret).where(links.c.expires_at > tx.now))
    return str(row.person) if row is not None else None


def use_link(tx: Tx, secret: str) -> str | None:
    """The same, once: after this it does not count any more."""
    person = link_person(tx, secret)
    unused = links.c.hash == _hash(secret), links.c.used_at.is_(None)  # two may come at the same moment
    return person if tx.changed(update(links).where(*unused).values(used_at=tx.now)) else None


def new_approval_link(tx: Tx, approval_id: str, person: str, lasts_ms: int) -> str:
    """The secret of a link that decides one question, once."""
    return _add_link(tx, "approval", person=person, approval_id=approval_id, lasts_ms=lasts_ms)


def linked_approval(tx: Tx, secret: str) -> tuple[str, str] | None:
    """The question and the person of a link that decides it; None when it does not count now."""
    row = tx.one(_link_query("approval", secret).where(links.c.expires_at > tx.now))
    return (str(row.approval_id), str(row.person)) if row is not None else None


def use_approval_link(tx: Tx, secret: str) -> None:
    tx.execute(update(links).where(links.c.hash == _hash(secret)).values(used_at=tx.now))


def sign_in(tx: Tx, person: str, agent: str) -> str:
    """The secret for the cookie of a browser that is signed in from now on."""
    secret = secrets.token_urlsafe(32)
    tx.execute(delete(browsers).where(browsers.c.expires_at <= tx.now))
    known = browsers.c.person == person
    oldest = (
        select(browsers.c.hash).where(known).order_by(browsers.c.seen_at.desc()).offset(MOST_BROWSERS - 1)
    )
    for row in tx.all(oldest):
        tx.execute(delete(browsers).where(browsers.c.hash == row.hash))
    tx.insert(
        browsers,
        hash=_hash(secret),
        person=person,
        form_key=secrets.token_urlsafe(16),
        agent=agent[:200],
        created_at=tx.now,
        seen_at=tx.now,
        expires_at=tx.now + SIGNED_IN_MS,
    )
    return secret


def find_browser(tx: Tx, secret: str) -> BrowserRow | None:
    """A browser that is signed in, by its cookie."""
    query = select(*columns_of(BrowserRow, browsers))
    row = tx.one(query.where(browsers.c.hash == _hash(secret), browsers.c.expires_at > tx.now))
    return record(BrowserRow, row) if row is not None else None


def note_seen(tx: Tx, browser: BrowserRow) -> None:
    values = {"seen_at": tx.now, "expires_at": tx.now + SIGNED_IN_MS}
    tx.execute(update(browsers).where(browsers.c.hash == browser.hash).values(**values))


def sign_out(tx: Tx, secret: str) -> None:
    tx.execute(delete(browsers).where(browsers.c.hash == _hash(secret)))


def sign_out_everywhere(tx: Tx, person: str) -> int:
    """Of how many browsers."""
    return int(tx.execute(delete(browsers).where(browsers.c.person == person)).rowcount)


def require_known(tx: Tx, name: str) -> None:
    """Raises NotFound. Whoever has the gateway's token has no row."""
    if name != OPERATOR and find_person(tx, name) is None:
        raise _nobody(name)


def _nobody(name: str) -> NotFound:
    return NotFound(f"there is nobody called {name!r}", hint="see: colleague user list")


def _add_link(tx: Tx, purpose: str, *, lasts_ms: int, **about: str) -> str:
    secret = secrets.token_urlsafe(24)
    tx.execute(delete(links).where(links.c.expires_at <= tx.now))
    times = {"created_at": tx.now, "expires_at": tx.now + lasts_ms}
    tx.insert(links, hash=_hash(secret), purpose=purpose, **about, **times)
    return secret


def _link_query(purpose: str, secret: str) -> Select:
    return select(links).where(
        links.c.hash == _hash(secret), links.c.purpose == purpose, links.c.used_at.is_(None)
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
