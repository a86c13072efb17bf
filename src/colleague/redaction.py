"""Taking secrets out of what is shown or written down."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

HIDDEN = "[hidden]"

_SHORTEST = 6
_SCHEMES = frozenset(("bearer", "digest"))
_LOOKS_SECRET = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|or|hf|ghp|gho|glpat|xox[abprs])[-_][A-Za-z0-9_-]{12,}"
    r"|\bAIza[A-Za-z0-9_-]{20,}"
    r"|(?<=Bearer )[A-Za-z0-9._~+/=-]{8,}"
    r"|(?<=[?&]key=)[^&\s\"'\\]+",
    re.IGNORECASE,
)


class Redactor:
    """Replaces every known secret in a text, also where it was quoted for JSON or a URL."""

    def __init__(self, secrets: Iterable[str]) -> None:
        found = {form for secret in secrets for form in _forms(secret)}
        ordered = sorted(found, key=lambda form: (-len(form), form))
        self.longest = len(ordered[0]) if ordered else 0
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def __call__(self, text: str) -> str:
        return self._pattern.sub(HIDDEN, text) if self._pattern else text


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without the given secrets and without anything that looks like a key."""
    return _LOOKS_SECRET.sub(HIDDEN, Redactor(secrets)(text))


def _forms(secret: str) -> Iterator[str]:
    """A secret as a whole, its words (`Bearer abc`) and lines (a PEM key), each also quoted."""
    for part in {secret.strip(), *secret.split()}:
        if len(part) >= _SHORTEST and part.lower() not in _SCHEMES:
            yield part
            yield json.dumps(part)[1:-1]
            yield json.dumps(part, ensure_ascii=False)[1:-1]
            yield quote(part, safe="", errors="replace")
            yield quote(part, errors="replace")
            yield quote_plus(part, errors="replace")
