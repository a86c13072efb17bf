"""Who looks at the page, and what they may do."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from fastapi import Depends, Request

from colleague.gateway.api_error import ApiError
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.form_key import masked
from colleague.gateway.request_origin import set_visitor
from colleague.person_document import Role
from colleague.store.people import (
    OPERATOR,
    SEEN_EVERY_MS,
    BrowserRow,
    PersonRow,
    find_browser,
    find_person,
    note_seen,
)
from colleague.store.tx import Tx

COOKIE = "colleague"

_OPEN_FORM_KEY = secrets.token_urlsafe(16)
"""Where authentication is disabled there are no browsers to keep one for."""


class SignInFirst(Exception):
    """Nobody is signed in."""


@dataclass(frozen=True)
class Visitor:
    """Somebody at the page."""

    name: str
    role: Role
    form_secret: str
    only: tuple[str, ...] | None = None
    signed_in: bool = True

    @cached_property
    def form_key(self) -> str:
        """In every form, so that no other site can send one."""
        return masked(self.form_secret)

    @property
    def is_admin(self) -> bool:
        return self.role == "admin"

    def may_decide(self, expert: str) -> bool:
        if self.role == "approver":
            return self.only is None or expert in self.only
        return self.is_admin

    def require_decider(self, expert: str) -> None:
        """Raises ApiError when the role does not allow to decide for this expert, or to stop its runs."""
        if not self.may_decide(expert):
            raise ApiError(403, "not-allowed", f"your role does not allow you to decide for {expert}")

    def require_admin(self, what: str) -> None:
        """Raises ApiError when the role does not allow `what`, a verb with its object."""
        if not self.is_admin:
            raise ApiError(403, "not-allowed", f"your role does not allow you to {what}")


async def visitor_of(request: Request, gateway: GatewayDep) -> Visitor:
    """Raises SignInFirst."""
    found = await find_visitor(request, gateway)
    if found is None:
        raise SignInFirst
    set_visitor(found.name, "page")
    return found


async def find_visitor(request: Request, gateway: Gateway) -> Visitor | None:
    if not gateway.live.keys.gateway:
        return Visitor(OPERATOR, "admin", _OPEN_FORM_KEY, signed_in=False)
    secret = request.cookies.get(COOKIE, "")
    if not secret:
        return None
    browser, person = await gateway.database.read(lambda tx: _known(tx, secret))
    if browser is None or (person is None and browser.person != OPERATOR):
        return None
    if gateway.clock.now() - browser.seen_at > SEEN_EVERY_MS:
        await gateway.database.write(lambda tx: note_seen(tx, browser))
    if person is None:
        return Visitor(OPERATOR, "admin", browser.form_key)
    return Visitor(person.name, person.role, browser.form_key, person.only)


def _known(tx: Tx, secret: str) -> tuple[BrowserRow | None, PersonRow | None]:
    browser = find_browser(tx, secret)
    return browser, find_person(tx, browser.person) if browser else None


VisitorDep = Annotated[Visitor, Depends(visitor_of)]
