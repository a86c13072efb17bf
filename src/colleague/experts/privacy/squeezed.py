"""Passages without what stands between their words, found in letters without spaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from colleague.experts.privacy.encoding import SHORTEST


@dataclass(frozen=True)
class Squeezed:
    """`lengths` are those of the passages that begin with the same characters, the longest first."""

    texts: frozenset[str]
    lengths: dict[str, list[int]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Squeezed:
        known = frozenset(text for text in texts if len(text) >= SHORTEST)
        lengths: dict[str, list[int]] = {}
        for text in sorted(known, key=len, reverse=True):
            begun = lengths.setdefault(text[:SHORTEST], [])
            if not begun or begun[-1] > len(text):
                begun.append(len(text))
        return cls(known, lengths)

    def found_in(self, letters: str) -> Iterator[tuple[int, int]]:
        for first in range(len(letters) - SHORTEST + 1):
            for length in self.lengths.get(letters[first : first + SHORTEST], ()):
                if first + length <= len(letters) and letters[first : first + length] in self.texts:
                    yield first, first + length
                    break
