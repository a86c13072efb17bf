"""A picture that may be shown to a model: of a known format, whole, and not too large."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from colleague.agent.pictures.header import Header, PictureError, read_header
from colleague.agent.tools.path import escaped

MOST_BYTES = 3_750_000
"""Five megabytes in base64, which is the most that one of the large providers takes."""
MOST_PIXELS = 40_000_000
LONGEST_SIDE = 8_000
"""Of a side, in pixels: some providers refuse more."""


@dataclass(frozen=True)
class Picture:
    """A checked picture; `name` is for people and models: one line, without brackets."""

    name: str
    header: Header
    sha256: str


def checked_picture(name: str, data: bytes) -> Picture:
    """Raises PictureError, a sentence that begins with the name, for what must not be sent."""
    shown = shown_name(name)
    try:
        if len(data) > MOST_BYTES:
            raise PictureError(f"has {len(data):,} bytes; {MOST_BYTES:,} is the most. Make it smaller")
        header = read_header(data)
        if max(header.width, header.height) > LONGEST_SIDE or header.width * header.height > MOST_PIXELS:
            raise PictureError(
                f"has {header.width:,} x {header.height:,} pixels; {LONGEST_SIDE:,} on a side and "
                f"{MOST_PIXELS:,} in all is the most. Make it smaller"
            )
    except PictureError as error:
        raise PictureError(f"{shown} {error.message}.") from None
    return Picture(shown, header, hashlib.sha256(data).hexdigest())


def shown_name(name: str) -> str:
    """A name that others chose, so that it can stand in brackets."""
    return escaped(name).translate(str.maketrans("[]", "()")) or "a file without a name"
