"""Keys of a keyboard, as a terminal sends them."""

from __future__ import annotations

from collections.abc import Iterable

_NAMED = {
    "enter": "\r",
    "return": "\r",
    "tab": "\t",
    "escape": "\x1b",
    "esc": "\x1b",
    "space": " ",
    "backspace": "\x7f",
    "bspace": "\x7f",
    "delete": "\x1b[3~",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
}


def key_bytes(keys: Iterable[str]) -> bytes:
    """Names such as Enter, Up and C-c; anything else is typed as it is."""
    return "".join(map(_typed, keys)).encode()


def _typed(key: str) -> str:
    prefix, _, letter = key.partition("-")
    if prefix.lower() in ("c", "ctrl", "^") and len(letter) == 1 and letter.isascii():
        return chr(ord(letter.upper()) & 0x1F)
    return _NAMED.get(key.lower(), key)
