"""Taking secrets out of what is shown or written down."""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"

_LOOKS_SECRET = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|or|hf|ghp|gho|glpat|xox[abprs])[-_][A-Za-z0-9_-]{12,}"
    r"|\bAIza[A-Za-z0-9_-]{20,}"
    r"|(?<=Bearer )[A-Za-z0-9._~+/=-]{8,}"
    r"|(?<=[?&]key=)[^&\s\"']+",
    re.IGNORECASE,
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without the given secrets and without anything that looks like a key."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return _LOOKS_SECRET.sub(HIDDEN, text)
