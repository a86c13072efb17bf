"""Names of parameters, compared as people compare them: `dealId`, `deal_id` and `Deal ID` are one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in _WORD.findall(_HUMP.sub(" ", name)))


def squeezed(name: str) -> str:
    """What two spellings of one name have in common."""
    return "".join(words(name)) or name


def singular(name: str) -> str:
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") and len(name) > 1 else name


def splits(name: str) -> Iterator[tuple[str, str]]:
    """Whose and what: `contact_owner_id` as contact + ownerid, then contactowner + id."""
    parts = words(name)
    for place in range(1, len(parts)):
        yield "".join(parts[:place]), "".join(parts[place:])
