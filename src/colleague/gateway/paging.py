"""Lists in pages: how much, after what, and where the rest is."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response

from colleague.store.paging import Page

PageSize = Annotated[int, Query(ge=1, le=1000)]
PageAfter = Annotated[str | None, Query(max_length=100, description="The id of the last one of a page")]


def link_next(request: Request, response: Response, page: Page[Any]) -> None:
    """Says where the list goes on, as a path of this gateway: behind a proxy nobody knows its address."""
    if page.next_after is not None:
        url = request.url.include_query_params(after=page.next_after)
        response.headers["Link"] = f'<{url.path}?{url.query}>; rel="next"'
