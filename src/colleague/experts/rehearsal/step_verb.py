"""Whether a step says to read a file, or to change it."""

from __future__ import annotations

import re

_READ = "read|reread|re-read|look|check|review|consult|load|see|compare"
_CHANGE = "|".join(
    (
        "add|append|apply|begin|change|create|edit|enter|keep|log",
        "note|open|put|record|save|start|store|update|write",
    )
)
_VERB = re.compile(rf"\b(?:(?P<read>{_READ})|(?P<change>{_CHANGE}))\b", re.IGNORECASE)
_CHANGE_IT = re.compile(rf"\b(?:{_CHANGE})\s+(?:it|them|the file|the function)\b", re.IGNORECASE)


def only_reads(text: str, named: str) -> bool:
    """The last verb before the name counts, unless what follows says to change or apply it as well."""
    before, _, after = text.partition(f"`{named}`")
    verbs = list(_VERB.finditer(before))
    return bool(verbs) and verbs[-1]["read"] is not None and _CHANGE_IT.search(after) is None
