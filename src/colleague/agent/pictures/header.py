"""What the headers of a picture say, without decoding it: the format, the size, and that it is whole.

A provider refuses a request with a broken picture in it, and the picture would stay in the transcript. So the
structure is walked to its end; the pixels are never unpacked."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from colleague.errors import ColleagueError

FORMATS = "PNG, JPEG, GIF or WebP"


class PictureError(ColleagueError):
    """A picture cannot be used; the message goes on after its name, such as `is cut off`."""


@dataclass(frozen=True)
class Header:
    """A picture as its headers describe it; the largest size that any of them claims."""

    media_type: str
    width: int
    height: int


def read_header(data: bytes) -> Header:
    """Raises PictureError for anything but a whole picture of one of the formats."""
    for start, media_type, sizes in _FORMATS:
        if data.startswith(start):
            return Header(media_type, *_largest(sizes, data))
    raise PictureError(f"is not a picture that can be shown, which is {FORMATS}")


def _largest(sizes: Callable[[bytes], Iterator[tuple[int, int]]], data: bytes) -> tuple[int, int]:
    try:
        found = list(sizes(data))
    except (struct.error, IndexError):
        raise PictureError("is cut off") from None
    if not found or any(width < 1 or height < 1 for width, height in found):
        raise PictureError("is broken: it has no size")
    return max(width for width, _ in found), max(height for _, height in found)


def _png(data: bytes) -> Iterator[tuple[int, int]]:
    place, kind, has_pixels = 8, b"", False
    while kind != b"IEND":
        length, kind = struct.unpack_from(">I4s", data, place)
        (checksum,) = struct.unpack_from(">I", data, place + 8 + length)
        if zlib.crc32(data[place + 4 : place + 8 + length]) != checksum:
            raise PictureError("is broken: a checksum is wrong")
        if (place == 8) != (kind == b"IHDR") or (kind == b"IHDR" and length != 13):
            raise PictureError("is broken: its header is not where it belongs")
        if kind == b"IHDR":
            yield struct.unpack_from(">II", data, place + 8)
        has_pixels = has_pixels or kind == b"IDAT"
        place += 12 + length
    if not has_pixels:
        raise PictureError("is broken: there is nothing in it")


_NO_FRAME = {0xC4, 0xC8, 0xCC}
_START_OF_SCAN = 0xDA


def _jpeg(data: bytes) -> Iterator[tuple[int, int]]:
    place = 2
    while True:
        if data[place] != 0xFF:
            raise PictureError("is broken: a part of it does not begin where it should")
        while data[place] == 0xFF:
            place += 1
        marker = data[place]
        (length,) = struct.unpack_from(">H", data, place + 1)
        if marker == _START_OF_SCAN:
            break
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width = struct.unpack_from(">HH", data, place + 4)
            yield width, height
        place += 1 + length
    if data.find(b"\xff\xd9", place) < 0:
        raise PictureError("is cut off")


def _gif(data: bytes) -> Iterator[tuple[int, int]]:
    width, height, packed = struct.unpack_from("<HHB", data, 6)
    place, frames = 13 + _colours(packed), 0
    while (block := data[place]) != 0x3B:
        if block == 0x2C:
            left, top, inner_width, inner_height, packed = struct.unpack_from("<HHHHB", data, place + 1)
            yield left + inner_width, top + inner_height
            frames += 1
            place = _after_blocks(data, place + 11 + _colours(packed))
        elif block == 0x21:
            place = _after_blocks(data, place + 2)
        else:
            raise PictureError("is broken: it has a block that no GIF has")
    if not frames:
        raise PictureError("is broken: there is nothing in it")
    yield width, height


def _colours(packed: int) -> int:
    """The bytes of a table of colours, when there is one."""
    return 3 << ((packed & 7) + 1) if packed & 0x80 else 0


def _after_blocks(data: bytes, place: int) -> int:
    while data[place]:
        place += 1 + data[place]
    return place + 1


def _webp(data: bytes) -> Iterator[tuple[int, int]]:
    size, name = struct.unpack_from("<I4s", data, 4)
    if name != b"WEBP":
        raise PictureError(f"is not a picture that can be shown, which is {FORMATS}")
    place, end, has_pixels = 12, 8 + size, False
    if end > len(data):
        raise PictureError("is cut off")
    while place + 8 <= end:
        kind, length = struct.unpack_from("<4sI", data, place)
        if place + 8 + length > end:
            raise PictureError("is cut off")
        if kind in _WEBP_SIZES:
            yield _WEBP_SIZES[kind](data, place + 8)
        has_pixels = has_pixels or kind in (b"VP8 ", b"VP8L", b"ANMF")
        place += 8 + length + length % 2
    if not has_pixels:
        raise PictureError("is broken: there is nothing in it")


def _webp_canvas(data: bytes, place: int) -> tuple[int, int]:
    low_width, high_width, low_height, high_height = struct.unpack_from("<HBHB", data, place + 4)
    return (low_width | high_width << 16) + 1, (low_height | high_height << 16) + 1


def _webp_lossy(data: bytes, place: int) -> tuple[int, int]:
    start, width, height = struct.unpack_from("<3sHH", data, place + 3)
    if start != b"\x9d\x01\x2a":
        raise PictureError("is broken: its header is not where it belongs")
    return width & 0x3FFF, height & 0x3FFF


def _webp_lossless(data: bytes, place: int) -> tuple[int, int]:
    signature, bits = struct.unpack_from("<BI", data, place)
    if signature != 0x2F:
        raise PictureError("is broken: its header is not where it belongs")
    return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1


_WEBP_SIZES = {b"VP8X": _webp_canvas, b"VP8 ": _webp_lossy, b"VP8L": _webp_lossless}

_FORMATS: tuple[tuple[bytes, str, Callable[[bytes], Iterator[tuple[int, int]]]], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png", _png),
    (b"\xff\xd8\xff", "image/jpeg", _jpeg),
    (b"GIF87a", "image/gif", _gif),
    (b"GIF89a", "image/gif", _gif),
    (b"RIFF", "image/webp", _webp),
)
