"""Headers of pictures: honest, hostile and cut off."""

from __future__ import annotations

import random
import struct

import pytest

from colleague.agent.pictures.header import Header, PictureError, read_header
from colleague.agent.pictures.picture import MOST_BYTES, checked_picture
from tests.unit.pictures.samples import canvas, chunk, gif, jpeg, lossless, lossy, png, segment, webp

WHOLE = {
    "png": png(),
    "jpeg": jpeg(),
    "gif": gif(),
    "webp-lossy": webp(lossy()),
    "webp-lossless": webp(lossless()),
    "webp-extended": webp(canvas(), (b"ALPH", b"abc"), lossy()),
}


@pytest.mark.parametrize("name", WHOLE)
def test_size_and_type(name: str) -> None:
    assert read_header(WHOLE[name]) == Header(f"image/{name.partition('-')[0]}", 2, 3)


@pytest.mark.parametrize("name", WHOLE)
def test_every_cut_is_noticed(name: str) -> None:
    data = WHOLE[name]
    for length in range(len(data)):
        with pytest.raises(PictureError):
            read_header(data[:length])


@pytest.mark.parametrize("name", WHOLE)
def test_noise_never_breaks_the_reader(name: str) -> None:
    chance = random.Random(7)
    for _ in range(500):
        data = bytearray(WHOLE[name])
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            read_header(bytes(data))
        except PictureError:
            continue


SIGNATURE = b"\x89PNG\r\n\x1a\n"
HOSTILE = {
    "nothing": b"",
    "text": b"hello",
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "png-no-pixels": SIGNATURE
    + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    + chunk(b"IEND", b""),
    "png-no-header": SIGNATURE + chunk(b"IDAT", b"") + chunk(b"IEND", b""),
    "png-two-headers": png()[:33] + png()[8:],
    "png-a-gigabyte-in-a-chunk": SIGNATURE + b"\x40\0\0\0IHDR" + bytes(50),
    "png-wrong-checksum": png()[:-1] + b"\0",
    "png-no-width": png(claimed=(0, 3)),
    "jpeg-no-height": jpeg(height=0),
    "jpeg-no-frame": b"\xff\xd8" + segment(0xDA, b"\0") + b"\xff\xd9",
    "jpeg-long-segment": b"\xff\xd8\xff\xe0\xff\xff" + bytes(99),
    "jpeg-segment-without-length": b"\xff\xd8\xff\xe0\0\0" + bytes(99),
    "jpeg-only-fill": b"\xff\xd8" + b"\xff" * 999,
    "gif-without-frames": gif()[:19] + b"\x3b",
    "gif-strange-block": gif()[:19] + b"\x99",
    "webp-empty": webp(),
    "webp-canvas-alone": webp(canvas()),
    "webp-a-gigabyte": b"RIFF\0\0\0\x40WEBP" + bytes(50),
    "webp-chunk-too-long": b"RIFF\x14\0\0\0WEBPVP8 \0\0\0\x40" + bytes(50),
    "wave": b"RIFF\x04\0\0\0WAVE",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    with pytest.raises(PictureError):
        read_header(HOSTILE[name])


BOMBS = {
    "png": (png(claimed=(50_000, 50_000)), "50,000 x 50,000"),
    "png-2-31": (png(claimed=(2**31 - 1, 1)), "2,147,483,647 x 1"),
    "png-many-pixels": (png(claimed=(8_000, 8_000)), "8,000 x 8,000"),
    "jpeg": (jpeg(65_535, 65_535), "65,535 x 65,535"),
    "gif": (gif(60_000, 60_000), "60,000 x 60,000"),
    "gif-in-a-frame": (gif(1, 1, frame=(65_535, 9)), "65,535 x 9"),
    "webp-canvas": (webp(canvas(2**24, 2), lossy()), "16,777,216 x 3"),
    "webp-behind-a-canvas": (webp(canvas(1, 1), lossless(16_384, 16_384)), "16,384 x 16,384"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str) -> None:
    data, size = BOMBS[name]
    with pytest.raises(PictureError, match=f"^x.img has {size} pixels; .*Make it smaller.$"):
        checked_picture("x.img", data)


def test_too_many_bytes_are_not_even_looked_at() -> None:
    with pytest.raises(PictureError, match=r"^x has 3,750,001 bytes; 3,750,000 is the most\."):
        checked_picture("x", bytes(MOST_BYTES + 1))
