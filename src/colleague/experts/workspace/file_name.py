"""Text from anywhere as a part of a file's name."""

from __future__ import annotations

import hashlib
import re
import unicodedata

MOST_CHARACTERS = 80

_PLAIN = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._@+=-]{{0,{MOST_CHARACTERS - 1}}}")
_OTHER = re.compile(r"[^A-Za-z0-9._@+=-]+")
_MOST_LEGIBLE = 40


def file_name_part(text: str) -> str:
    """Plain text as it is; of any other what is legible, and a digest that tells it from all others.

    Plain text has no `~`, so nothing that is written out by hand can pass for something else."""
    if _PLAIN.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    legible = _OTHER.sub("-", unicodedata.normalize("NFKD", text[:1_000])).strip("-._@+=")
    return f"{legible[:_MOST_LEGIBLE] or 'x'}~{digest}"
