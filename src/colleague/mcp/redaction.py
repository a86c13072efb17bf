"""Keeping secrets out of logs and error texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

_SHORTEST = 6
HIDDEN = "***"


class Redactor:
    """Replaces every known secret in a text, also where it was quoted for JSON or a URL."""

    def __init__(self, secrets: Iterable[str]) -> None:
        found = {form for secret in secrets for form in _forms(secret)}
        ordered = sorted(found, key=len, reverse=True)
        self.longest = len(ordered[0]) if ordered else 0
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def __call__(self, text: str) -> str:
        return self._pattern.sub(HIDDEN, text) if self._pattern else text


def _forms(secret: str) -> Iterator[str]:
    """A secret as a whole, its words (`Bearer abc`) and lines (a PEM key), each also quoted."""
    for part in {secret.strip(), *secret.split()}:
        if len(part) >= _SHORTEST:
            yield part
            yield json.dumps(part)[1:-1]
            yield quote(part, safe="")
