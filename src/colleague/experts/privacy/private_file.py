"""The private files in the copy of a package, found without reading all of the package."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from colleague.packages.frontmatter import split_frontmatter
from colleague.packages.names import MANIFEST

_NAME = re.compile(r"^name:[ \t]*[\"']?(.*?)[\"']?[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_PRIVATE = re.compile(r"\btype[\"']?\s*:\s*[\"']?private\b")
_MOST_KEPT = 1024


@lru_cache(maxsize=_MOST_KEPT)
def private_bodies(root: Path, expert: str) -> tuple[str, ...]:
    """The bodies of the private files in a copy of this expert's package; none for another expert's."""
    named = _NAME.search(_text(root / MANIFEST))
    if named is None or named[1] != expert:
        return ()
    documents = [split_frontmatter(_text(file)) for file in sorted(root.rglob("*.md"))]
    return tuple(each.body for each in documents if each.head and _PRIVATE.search(each.head))


def _text(file: Path) -> str:
    """Nothing when it is gone; it may be on its way out. Any other error is raised: a private file that is
    there and cannot be read now must not be taken for one with nothing private in it."""
    try:
        return file.read_text(encoding="utf-8-sig", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""
