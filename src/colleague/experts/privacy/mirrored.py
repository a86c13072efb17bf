"""Whether a text may be a private one, written backwards."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from colleague.experts.privacy.encoding import SHORTEST
from colleague.experts.privacy.fragments import Passages
from colleague.experts.privacy.numbers import value_of
from colleague.experts.privacy.tokens import TokenizedText


@dataclass(frozen=True)
class Reversed:
    """The first two words of each passage, and its lone words, as they look backwards."""

    pairs: frozenset[tuple[str, str]]
    words: frozenset[str]
    values: frozenset[str]

    @classmethod
    def of(cls, passages: Passages) -> Reversed:
        pairs = {(words[1][::-1], words[0][::-1]) for words in passages.kinds if len(words) > 1}
        alone = {words[0][::-1] for words in passages.kinds if len(words) == 1}
        return cls(frozenset(pairs), frozenset(alone), frozenset(passages.values))

    def may_be_in(self, tokenized: TokenizedText) -> bool:
        words = tokenized.words
        if not self.words.isdisjoint(words) or not self.pairs.isdisjoint(itertools.pairwise(words)):
            return True
        numbers = {word for word in tokenized.written if len(word) >= SHORTEST and word[0] <= "9"}
        return any(value_of(word[::-1]) in self.values for word in numbers)
