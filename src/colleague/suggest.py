"""What somebody may have meant by a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 80
_CUTOFF = 0.6


def close_names(name: str, known: Iterable[str], *, most: int = 1, cutoff: float = _CUTOFF) -> list[str]:
    """The known names that look most like `name`, the best first."""
    import difflib

    return difflib.get_close_matches(name[:_LONGEST], list(known), n=most, cutoff=cutoff)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'name'?`, or nothing when no known name is near."""
    close = close_names(name, known)
    return f"did you mean {close[0]!r}?" if close else ""
