"""Where the documentation of this installation is."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def docs_folder() -> Path:
    """In the package, or beside it in the repository."""
    package = Path(__file__).parent
    folders = (package / "docs", package.parents[1] / "docs")
    return next((each for each in folders if each.is_dir()), folders[0])
