"""The documentation at /docs, from the installation itself: nothing is asked of another machine."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from colleague.gateway.api_error import ApiError
from colleague.gateway.page.docs_pages import FIRST, PICTURES, DocsPage, find_docs
from colleague.gateway.page.render import HEADERS, page
from colleague.gateway.page.visitor import VisitorDep

router = APIRouter(prefix="/docs", include_in_schema=False)


@router.get("")
async def show_first(visitor: VisitorDep, q: Annotated[str, Query(max_length=200)] = "") -> HTMLResponse:
    if q.strip():
        hits = await asyncio.to_thread(find_docs().search, q)
        about: dict[str, Any] = {"groups": find_docs().groups(), "name": "", "link": _link, "q": q}
        return page("docs_search.html", visitor, hits=hits, **about)
    return await _docs_page(FIRST, visitor)


@router.get("/search-index.js")
async def show_index(_: VisitorDep) -> Response:
    script = await asyncio.to_thread(lambda: find_docs().index_script)
    return Response(script, media_type="text/javascript", headers=dict(HEADERS))


@router.get("/{name:path}")
async def show_page(name: str, visitor: VisitorDep) -> Response:
    picture = find_docs().picture(name)
    if picture is not None:
        return Response(picture.read_bytes(), media_type=PICTURES[picture.suffix], headers=dict(HEADERS))
    return await _docs_page(name, visitor)


async def _docs_page(name: str, visitor: VisitorDep) -> HTMLResponse:
    found = await asyncio.to_thread(_rendered, name)
    if found is None:
        raise ApiError(404, "not-found", "there is no such page of the documentation")
    about: dict[str, Any] = {
        "groups": find_docs().groups(),
        "name": name,
        "link": _link,
        "q": "",
        "doc": found,
    }
    return page("docs.html", visitor, **about)


@lru_cache(maxsize=64)
def _rendered(name: str) -> DocsPage | None:
    return find_docs().page(name, _link)


def _link(name: str, fragment: str = "") -> str:
    return f"/docs/{name}{f'#{fragment}' if fragment else ''}"
