"""Tool names that every provider accepts, and back.

People see `crm.get_contact`; providers take letters, digits, `_` and `-`, 64 at most. `safe_name` depends
on the name alone, so a transcript is always sent in the same words, and two names never share a form:

    crm.get_contact   crm__get_contact      a dot is two underscores
    mail/send         _-mail-2f-send        anything else: `_-`, other characters as their code point
    (longer than 64)  _h-<start>-<hash>     only `ToolNames` can undo this one
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

LONGEST = 64

_SAFE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]*")
_ESCAPED, _HASHED = "_-", "_h-"
_HASH_LENGTH = 26


def safe_name(name: str) -> str:
    """The form of `name` that providers accept."""
    plain = name.replace(".", "__")
    if not _undoes(plain, name):
        plain = _ESCAPED + "".join(map(_escape, name))
    return plain if len(plain) <= LONGEST else _hashed(name)


def shown_name(safe: str) -> str:
    """The name behind a safe form, as far as the form itself tells; any other text as it is."""
    if safe.startswith(_HASHED) or not _SAFE.fullmatch(safe):
        return safe
    if not safe.startswith(_ESCAPED):
        return safe.replace("__", ".")
    pieces = safe.removeprefix(_ESCAPED).split("-")
    try:
        name = "".join(chr(int(piece, 16)) if i % 2 else piece for i, piece in enumerate(pieces))
    except (ValueError, OverflowError):
        return safe
    return name if safe_name(name) == safe else safe


def _undoes(plain: str, name: str) -> bool:
    tagged = plain.startswith((_ESCAPED, _HASHED))
    return not tagged and _SAFE.fullmatch(plain) is not None and plain.replace("__", ".") == name


def _escape(character: str) -> str:
    return character if re.fullmatch(r"[a-zA-Z0-9_]", character) else f"-{ord(character):x}-"


def _hashed(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    short = base64.b32encode(digest).decode()[:_HASH_LENGTH].lower()
    start = re.sub(r"[^a-zA-Z0-9]+", "_", name)[: LONGEST - _HASH_LENGTH - len(_HASHED) - 1]
    return f"{_HASHED}{start}-{short}"


@dataclass(frozen=True)
class ProviderToolNames:
    """The names of the tools in one request, both ways."""

    _shown: Mapping[str, str]

    @classmethod
    def of(cls, names: Iterable[str]) -> ProviderToolNames:
        return cls({safe_name(name): name for name in names})

    def shown(self, safe: str) -> str:
        """The name people see for what the model called, also when it called a tool that was not offered."""
        return self._shown.get(safe) or shown_name(safe)
