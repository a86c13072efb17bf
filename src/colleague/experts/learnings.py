"""What an expert has learned, as far as it goes into its prompt."""

from __future__ import annotations

from pathlib import Path

from colleague.packages.frontmatter import split_frontmatter

PACKAGE_LEARNINGS = "_package.md"


def package_learnings(folder: Path) -> str:
    """The approved learnings for the whole package, without their frontmatter."""
    try:
        text = (folder / PACKAGE_LEARNINGS).read_text(encoding="utf-8-sig", errors="replace")
    except FileNotFoundError:
        return ""
    return split_frontmatter(text.replace("\r\n", "\n")).body.strip()
