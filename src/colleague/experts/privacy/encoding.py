"""Texts that another text hides in an encoding which is cheap to undo: base64, hex, letter by letter.

Everything that is no character of the encoding is left out before, so that it may be split in lines, quoted
or spaced in any way. Every alignment is tried. All of it takes time in proportion to the text."""

from __future__ import annotations

import binascii
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from colleague.experts.privacy.normalize import FILLER, folded

SHORTEST = 6
"""Fewer characters are too few to tell a hidden text from chance."""

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="
_PLAIN = bytes.maketrans(b"-_=", b"+/A")
"""The padding counts as zeros, so that it ends what stands before it."""
_ESCAPED = re.compile(rb"%(?:2[Bb]|2[Ff]|3[Dd])")
_HEX = b"0123456789abcdefABCDEF"
_PRINTED = re.compile(
    rb"(?:[\t\n\r -~]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}){6,}+"
)
_SPACED = re.compile(r"(?<![^\W_])[^\W_](?:[\W_]{1,3}[^\W_]){5,}(?![^\W_])")


@dataclass(frozen=True)
class Hidden:
    """A hidden text, and where any stretch of it comes from."""

    text: str
    source: Callable[[int, int], tuple[int, int]]


def encoded_texts(text: str) -> Iterator[Hidden]:
    """What base64 and hex hide."""
    if len(text) < SHORTEST:
        return
    data = text.encode("latin-1", "replace")
    if b"\\" in data:
        data = re.sub(rb"\\[nrtx]", b"  ", data)
    if b"%" in data:
        data = _ESCAPED.sub(_unescaped, data)
    yield from _base64_texts(_Stream(data, _BASE64))
    yield from _hex_texts(_Stream(data.replace(b"0x", b"  "), _HEX))


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return bytes.fromhex(escape[0][1:].decode()) + b"  "


def spaced_texts(text: str) -> Iterator[Hidden]:
    """Letters with a sign or two after each, without the signs: `s e c r e t`."""
    for found in _SPACED.finditer(text):
        yield squeezed(found[0], found.start())


def squeezed(text: str, start: int = 0) -> Hidden:
    """Its letters and digits alone, in small letters. `start` is where the text stands in another."""
    letters: list[str] = []
    places: list[int] = []
    for at, char in enumerate(folded(text)):
        if char.isalnum() and char != FILLER:
            same = char if char.isascii() else unicodedata.normalize("NFKC", char).casefold()
            letters.append(same)
            places += [at] * len(same)

    def source(first: int, end: int) -> tuple[int, int]:
        return start + places[first], start + places[end - 1] + 1

    return Hidden("".join(letters), source)


class _Stream:
    """The characters of one encoding in a text, and where they stand in it."""

    def __init__(self, data: bytes, alphabet: bytes) -> None:
        self._data, self._alphabet = data, alphabet
        self.kept = data.translate(None, bytes(set(range(256)) - set(alphabet)))

    @cached_property
    def _places(self) -> list[int]:
        return [at for at, byte in enumerate(self._data) if byte in self._alphabet]

    def span(self, first: int, end: int) -> tuple[int, int]:
        places = self._places
        return places[first], places[min(end, len(places)) - 1] + 1


def _base64_texts(stream: _Stream) -> Iterator[Hidden]:
    kept = stream.kept.translate(_PLAIN)
    for offset in range(4):
        chunk = kept[offset:]
        decoded = binascii.a2b_base64(chunk + b"A" * (-len(chunk) % 4))

        def source(first: int, end: int, offset: int = offset) -> tuple[int, int]:
            return stream.span(offset + first * 4 // 3, offset + (end * 4 + 2) // 3)

        yield from _printed(decoded, source)


def _hex_texts(stream: _Stream) -> Iterator[Hidden]:
    for offset in range(2):
        chunk = stream.kept[offset:]
        decoded = binascii.a2b_hex(chunk[: len(chunk) // 2 * 2])

        def source(first: int, end: int, offset: int = offset) -> tuple[int, int]:
            return stream.span(offset + first * 2, offset + end * 2)

        yield from _printed(decoded, source)


def _printed(decoded: bytes, source: Callable[[int, int], tuple[int, int]]) -> Iterator[Hidden]:
    """The stretches that could be text; chance makes few of them."""
    for found in _PRINTED.finditer(decoded):
        text = found[0].decode("utf-8", "replace")

        def place(first: int, end: int, text: str = text, start: int = found.start()) -> tuple[int, int]:
            before = len(text[:first].encode())
            return source(start + before, start + before + len(text[first:end].encode()))

        yield Hidden(text, place)
