"""What a search provider is: ours, or one that a plugin brings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class SearchQuery:
    """`most`: how many results are wanted. `seconds`: what the search may take."""

    text: str
    most: int
    seconds: float


@dataclass(frozen=True)
class WebHit:
    """One result, in the words of the page that was found."""

    title: str
    url: str
    snippet: str = ""


class SearchProvider(Protocol):
    """Searches the web. What it returns is untrusted."""

    async def search(self, query: SearchQuery) -> Sequence[WebHit]:
        """Raises ColleagueError in words that a model can act on."""
        ...
