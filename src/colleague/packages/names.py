"""File names with a meaning in a package's folder."""

from __future__ import annotations

MANIFEST = "expert.yaml"
BINDINGS = "bindings.yaml"
LINK = "link.json"
IGNORED = frozenset({".git", ".hg", ".svn", ".DS_Store", "__pycache__"})
