"""Media that messages bring: pictures and sound."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Response

from colleague.agent.pictures.media import MediaRef, load_picture
from colleague.errors import NotFound
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token

router = APIRouter(prefix="/api/media", tags=["sessions"])

_KINDS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_INSIDE = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, max-age=31536000, immutable",
}


@router.get("/{sha256}", response_class=Response, responses=with_token(404))
async def media(gateway: GatewayDep, sha256: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]) -> Response:
    """The bytes that a message names as media:SHA256."""
    data = await asyncio.to_thread(load_picture, gateway.home, MediaRef(sha256, ""))
    if data is None:
        raise NotFound(f"there is no media:{sha256}", hint="what no message names is removed after a day")
    return Response(data, media_type=media_type(data), headers=_HEADERS)


def media_type(data: bytes) -> str:
    """By what the bytes begin with; what is not known is only ever saved."""
    if data.startswith(b"RIFF"):
        return _INSIDE.get(data[8:12], "application/octet-stream")
    known = (kind for start, kind in _KINDS.items() if data.startswith(start))
    return next(known, "application/octet-stream")
