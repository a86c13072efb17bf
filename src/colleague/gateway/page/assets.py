"""Scripts, styles and pictures of the page, served from the package itself."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from colleague.gateway.api_error import ApiError

router = APIRouter(include_in_schema=False)

FOR_GOOD = "public, max-age=31536000, immutable"
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Asset(NamedTuple):
    """One file as it is sent."""

    data: bytes
    kind: str
    version: str

    @property
    def tag(self) -> str:
        return f'"{self.version}"'


def asset_path(name: str) -> str:
    """Its address in a page; another one as soon as the file is another."""
    return f"/static/{name}?v={_assets()[name].version}"


@router.get("/static/{name}")
async def show_asset(name: str, request: Request, v: str = "") -> Response:
    """With the hash of what it contains in its address it is kept for good, else asked for each time."""
    found = _assets().get(name)
    if found is None:
        raise ApiError(404, "not-found", "there is no such file of the page")
    kept = FOR_GOOD if v == found.version else "no-cache"
    headers = {"ETag": found.tag, "Cache-Control": kept, "X-Content-Type-Options": "nosniff"}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    return Response(found.data, media_type=found.kind, headers=headers)


@cache
def _assets() -> dict[str, Asset]:
    folder = resources.files("colleague.gateway.page") / "static"
    return {each.name: _asset(each.name, each.read_bytes()) for each in folder.iterdir() if each.is_file()}


def _asset(name: str, data: bytes) -> Asset:
    kind = next(kind for ending, kind in _KINDS.items() if name.endswith(ending))
    return Asset(data, kind, hashlib.sha256(data).hexdigest()[:16])
