"""Small pictures, written by hand."""

from __future__ import annotations

import struct
import zlib


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 2, height: int = 3, *, colour: int = 0, claimed: tuple[int, int] | None = None) -> bytes:
    """A grey picture. `claimed` is what its header says instead of its size."""
    header = struct.pack(">IIBBBBB", *(claimed or (width, height)), 8, 0, 0, 0, 0)
    rows = (b"\0" + bytes([colour]) * width) * height
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def jpeg(width: int = 2, height: int = 3) -> bytes:
    """The segments of a JPEG; nobody could decode its scan."""
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    return (
        b"\xff\xd8"
        + segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0")
        + segment(0xC4, b"\0" + bytes(16))
        + segment(0xC2, frame)
        + segment(0xDA, b"\x01\x01\x00\x00\x3f\x00")
        + b"\x12\xff\x00\x34\xff\xd9"
    )


def segment(marker: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def gif(width: int = 2, height: int = 3, *, frame: tuple[int, int] | None = None) -> bytes:
    """A comment, a frame, and a table of two colours."""
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    image = b"\x2c" + struct.pack("<HHHHB", 0, 0, *(frame or (width, height)), 0) + b"\x02\x02\x4c\x01\x00"
    return head + b"\x21\xfe\x03abc\x00" + image + b"\x3b"


def webp(*parts: tuple[bytes, bytes]) -> bytes:
    body = b"".join(
        kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in parts
    )
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def lossy(width: int = 2, height: int = 3) -> tuple[bytes, bytes]:
    return b"VP8 ", b"\x10\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height) + bytes(5)


def lossless(width: int = 2, height: int = 3) -> tuple[bytes, bytes]:
    return b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + bytes(3)


def canvas(width: int = 2, height: int = 3) -> tuple[bytes, bytes]:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"VP8X", bytes(4) + sides
