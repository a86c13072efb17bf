"""The body of a response, unpacked, as far as a limit."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable
from dataclasses import dataclass

from colleague.errors import ColleagueError

ENCODINGS = "gzip, deflate"
"""What we ask for, and all that is unpacked."""


class BodyUnreadable(ColleagueError):
    """A body that cannot be unpacked."""


@dataclass(frozen=True)
class Body:
    """`cut`: the response has more."""

    data: bytes
    cut: bool


async def read_body(stream: AsyncIterable[bytes], encoding: str, most: int) -> Body:
    """Never holds more than `most` bytes and one chunk, packed or not. Raises BodyUnreadable."""
    unpacker = _unpacker(encoding)
    read, data = 0, bytearray()
    async for chunk in stream:
        read += len(chunk)
        try:
            data += unpacker.unpack(chunk, most + 1 - len(data))
        except zlib.error:
            raise BodyUnreadable(f"the answer says it is {encoding} and is not") from None
        if len(data) > most or read > most:
            return Body(bytes(data[:most]), cut=True)
    return Body(bytes(data), cut=False)


class _Plain:
    def unpack(self, chunk: bytes, most: int) -> bytes:
        return chunk[:most]


class _Zlib:
    """gzip and deflate; the second with or without its header, as servers do."""

    def __init__(self, *, raw: bool) -> None:
        self._raw = raw
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._first = True

    def unpack(self, chunk: bytes, most: int) -> bytes:
        try:
            return self._inflate.decompress(chunk, most)
        except zlib.error:
            if not (self._raw and self._first):
                raise
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._inflate.decompress(chunk, most)
        finally:
            self._first = False


def _unpacker(encoding: str) -> _Plain | _Zlib:
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return _Plain()
    if name in ("gzip", "x-gzip", "deflate"):
        return _Zlib(raw=name == "deflate")
    raise BodyUnreadable(f"the answer is packed as {encoding[:60]}, which was not asked for and is not read")
