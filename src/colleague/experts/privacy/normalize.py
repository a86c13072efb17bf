"""A text in one spelling, in which characters that look or mean the same are the same.

It keeps its length, so that a place in it is a place in the original."""

from __future__ import annotations

import re
import unicodedata

FILLER = "\ua7f7"
"""Stands for what is not seen. It is a letter, so that a word goes on over it; nobody uses it."""
_UNSEEN = frozenset(("Mn", "Mc", "Me", "Cf"))
_APOSTROPHES = frozenset("\u2018\u2019\u02bc\u2032")
_MINUS = "\u2212"
_OTHER_SIGN = "*"

_CONTROLS = (r"\n", r"\r", r"\t", r"\b", r"\f")
_UNIT = r"(?<!\\)\\++u"
_UTF16 = re.compile(
    rf"{_UNIT}[dD][89abAB][0-9a-fA-F]{{2}}\\++u[dD][c-fC-F][0-9a-fA-F]{{2}}|{_UNIT}[0-9a-fA-F]{{4}}"
)
_BYTE = "%(?:25)*"
_MORE = rf"{_BYTE}[89abAB][0-9a-fA-F]"
_UTF8 = re.compile(
    rf"{_BYTE}(?:[0-7][0-9a-fA-F]|[c-dC-D][0-9a-fA-F]{_MORE}|[eE][0-9a-fA-F](?:{_MORE}){{2}}"
    rf"|[fF][0-7](?:{_MORE}){{3}})"
)


_CODE_POINT = re.compile(r"\\++x[0-9a-fA-F]{2}|&#(?:[0-9]{1,7}|[xX][0-9a-fA-F]{1,6});")
_ENTITIES = {
    "&amp;": "&",
    "&quot;": '"',
    "&apos;": "'",
    "&lt;": "<",
    "&gt;": ">",
    "&nbsp;": " ",
    "&shy;": "\u00ad",
}
_ENTITY = re.compile("|".join(_ENTITIES))
_LAST_CODE_POINT = 0x10FFFF


def folded(text: str) -> str:
    """Without case and accents. What is not ASCII then is a letter, a digit or a filler; signs are ASCII."""
    return text.lower() if text.isascii() else text.translate(_Fold())


def decoded(text: str) -> str:
    """With the escapes of JSON strings, URLs and HTML read, however often they were escaped."""
    if "\\" in text:
        for control in _CONTROLS:
            text = text.replace(control, "  ")
        text = _UTF16.sub(_Decoder("utf-16-be", 4), text) if "\\u" in text else text
    if "%" in text:
        text = _UTF8.sub(_Decoder("utf-8", 2), text)
    if "&" in text:
        text = _ENTITY.sub(lambda match: _as_long(_ENTITIES[match[0]], len(match[0])), text)
    if "&#" in text or "\\x" in text:
        text = _CODE_POINT.sub(lambda match: _as_long(_code_point(match[0]), len(match[0])), text)
    return text


def _code_point(escape: str) -> str:
    """Of `\\x4b`, `&#75;` and `&#x4b;`."""
    digits = escape.lstrip("\\&#").rstrip(";")
    number = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    return chr(number) if number <= _LAST_CODE_POINT else " "


def _as_long(char: str, length: int) -> str:
    """A character made as long as its escape; in a word it is followed by what is not seen."""
    return char + FILLER * (length - 1) if _fold(char).isalnum() else char * length


class _Fold(dict[int, str]):
    def __missing__(self, code: int) -> str:
        self[code] = _fold(chr(code))
        return self[code]


def _fold(char: str) -> str:
    if char.isascii():
        return char.lower()
    category = unicodedata.category(char)
    if category in _UNSEEN:
        return FILLER
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if char in _APOSTROPHES:
        return "'"
    spelled = unicodedata.normalize("NFKD", char).casefold()
    seen = [each for each in spelled if unicodedata.category(each) not in _UNSEEN]
    same = seen[0] if len(seen) == 1 else char
    return same if same.isascii() or same.isalnum() else _fold_sign(same, category)


def _fold_sign(char: str, category: str) -> str:
    if category == "Pd" or char == _MINUS:
        return "-"
    if category == "Sc":
        return "$"
    if char.isspace():
        return "\n" if category in ("Zl", "Zp", "Cc") else " "
    return _OTHER_SIGN


class _Decoder(dict[str, str]):
    """An escaped character as itself, made as long as its escape."""

    def __init__(self, encoding: str, digits: int) -> None:
        super().__init__()
        self._encoding = encoding
        self._unit = re.compile(rf"[0-9a-fA-F]{{{digits}}}(?=\\|%|$)")

    def __call__(self, match: re.Match[str]) -> str:
        return self[match[0]]

    def __missing__(self, escape: str) -> str:
        data = bytes.fromhex("".join(self._unit.findall(escape)))
        self[escape] = _as_long(data.decode(self._encoding, "replace")[:1], len(escape))
        return self[escape]
