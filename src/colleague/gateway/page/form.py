"""What somebody sent with a form of the page."""

from __future__ import annotations

import hmac
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from colleague.gateway.api_error import ApiError
from colleague.gateway.page.form_key import unmasked
from colleague.gateway.page.visitor import Visitor, VisitorDep

KEY = "form_key"
MOST_FIELDS = 1_000

Form = dict[str, str]


async def read_form(request: Request) -> Form:
    """The fields by name; of two with one name the last counts. Raises ApiError."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise ApiError(415, "no-form", "send it as a form")
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise ApiError(413, "too-large", f"the form has more than {MOST_FIELDS} fields") from None


async def own_form(request: Request, visitor: VisitorDep) -> Form:
    """A form that this page gave to this visitor. Raises ApiError for any other."""
    form = await read_form(request)
    check_key(form.pop(KEY, ""), visitor)
    return form


def check_key(given: str, visitor: Visitor) -> None:
    """Raises ApiError unless the form is one that this visitor was given."""
    if not hmac.compare_digest(unmasked(given), visitor.form_secret.encode()):
        raise ApiError(403, "old-form", "this form is from before you signed in: load the page again")


FormDep = Annotated[Form, Depends(own_form)]
