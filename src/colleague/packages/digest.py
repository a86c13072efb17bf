"""One fingerprint for a whole package, the user's bindings apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from colleague.packages.folder import FolderEntry


def digest_of(root: Path, entries: Iterable[FolderEntry]) -> str:
    """A SHA-256 over the paths and contents of `entries`; links count by where they point."""
    total = hashlib.sha256()
    for entry in entries:
        if entry.link_to is not None:
            content = b"link " + entry.link_to.encode("utf-8", "surrogateescape")
        else:
            content = (root / entry.path).read_bytes()
        total.update(entry.path.encode("utf-8", "surrogateescape") + b"\0")
        total.update(hashlib.sha256(content).digest())
    return total.hexdigest()
