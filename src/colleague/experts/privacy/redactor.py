"""Private knowledge, recognised wherever it turns up, so that it never leaves the runtime."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colleague.experts.privacy.encoding import SHORTEST, Hidden, encoded_texts, spaced_texts, squeezed
from colleague.experts.privacy.fragments import OpeningMessages, PassageKind, Passages, passages_of, sums_in
from colleague.experts.privacy.mirrored import Reversed
from colleague.experts.privacy.normalize import decoded, folded
from colleague.experts.privacy.private_file import private_bodies
from colleague.experts.privacy.squeezed import Squeezed
from colleague.experts.privacy.tokens import MARK, TokenizedText, tokenized_texts
from colleague.experts.registry import Record, read_records
from colleague.home import Home
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.frontmatter import split_frontmatter
from colleague.packages.mark import Mark
from colleague.packages.names import MANIFEST

if TYPE_CHECKING:
    from colleague.packages.package import Package
    from colleague.store.run import Run

_MOST_KEPT = 64
_MOST_TEXTS_KEPT = 256
_LONGEST_KEPT = 30_000
_OURS = (
    "abandoned cancelled completed confirm delivered dead_letter describe expired failed happened learning "
    "low_confidence manual narrative pending queued rejected retrying running skipped structured uncertain "
    "unknown waiting withdrawn"
)
"""Words the runtime itself answers with: that they stand alone on a private line makes them no secret."""
_FIELD_NAME = re.compile(r"[a-z]+(?:_[a-z]+){0,2}")
_MOST_PASSES = 20
"""What is left out may bring other words together; a text that does so again and again is left out whole."""
_DEEPEST = 2
_LONG_ENOUGH = 16
_SHORTEST_REVERSED_WORD = 9
_APART = re.compile(r"\"|[^\W_]")


class PrivateText:
    """Finds the passages of private files in other texts, and takes them out.

    A passage is four or more words in a row, a whole short line or cell, or a code, an address or a sum by
    itself, in any case, spelling or escaping. A lone word in capitals is found where it has a capital. It is
    found in base64 and hex, one inside the other, backwards, and letter by letter, too."""

    def __init__(self, passages: Passages) -> None:
        self._passages = passages
        self._alone = {words[0] for words in passages.kinds if len(words) == 1}
        self._sizes: dict[OpeningMessages, list[int]] = {}
        for words in sorted(passages.kinds, key=len, reverse=True):
            sizes = self._sizes.setdefault(words[:2], []) if len(words) > 1 else [1]
            if not sizes or sizes[-1] > len(words):
                sizes.append(len(words))

    @classmethod
    def of(cls, texts: Iterable[str], *, public: Iterable[str] = ()) -> PrivateText:
        """What stands in `texts` and nowhere in `public`. Texts are the bodies of files."""
        private = cls(passages_of(texts))
        for text in [_OURS, *public]:
            private._forget(text)
        return private

    @classmethod
    def of_package(cls, package: Package, *, also: Sequence[str] = ()) -> PrivateText:
        """Its private knowledge, and `also` these texts, as far as its other files do not say the same."""
        private = dict.fromkeys(item.path for item in package.knowledge if item.private)
        if not private and not also:
            return NOTHING
        read = _reader(package.root)
        bodies = [*(split_frontmatter(read(path)).body for path in private), *also]
        return cls.of(bodies, public=(read(path) for path in _public_paths(package) if path not in private))

    def together(self, other: PrivateText) -> PrivateText:
        """What either of the two finds."""
        kinds = dict(self._passages.kinds)
        for words, kind in other._passages.kinds.items():
            kinds[words] = min(kind, kinds.get(words, kind))
        return PrivateText(Passages(kinds, self._passages.values | other._passages.values))

    def __bool__(self) -> bool:
        return bool(self._passages.kinds or self._passages.values)

    def redact(self, text: str) -> str:
        """The text with every private passage replaced by "[private]"; the same text when it has none."""
        if not self:
            return text
        return self._redacted(text) if len(text) > _LONGEST_KEPT else _kept(self, text)

    def _redacted(self, text: str) -> str:
        for _ in range(_MOST_PASSES):
            spans = self._spans(text)
            if not spans:
                return text
            text = _replaced(text, spans)
        return MARK

    def redact_document(self, document: Any, *, numbers: bool = False) -> Any:
        """The strings in a JSON-like value, keys too, and with `numbers` also its numbers."""
        if not self:
            return document
        return _Cleaning(self, numbers).copy(document)

    def leaks(self, text: str) -> bool:
        """Whether there is anything private in the text."""
        if not self:
            return False
        plain = any(True for each in tokenized_texts(text) for _ in self._found(text, each))
        return plain or any(True for _ in self._hidden(text))

    def _forget(self, text: str) -> None:
        """What stands in a public text, be it in small letters, is not private."""
        for tokenized in tokenized_texts(text) if self else ():
            for first, end, kind in self._candidates(tokenized):
                if kind is PassageKind.CAPITAL or kind.fits(text, tokenized, first, end):
                    del self._passages.kinds[tokenized.words[first:end]]
            for word in self._alone.intersection(tokenized.words):
                del self._passages.kinds[word,]
            self._alone.difference_update(tokenized.words)
            said = [value for _, value in sums_in(tokenized, self._passages.values)]
            self._passages.values.difference_update(said)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Where something private stands, neighbours joined."""
        found = {*self._plain(text), *self._hidden(text)}
        view = decoded(text) if found else text
        return _joined(sorted(found), folded(view)) if found else []

    def _plain(self, text: str) -> Iterator[tuple[int, int]]:
        for tokenized in tokenized_texts(text):
            for first, end in self._found(text, tokenized):
                yield from _unquoted(tokenized, first, end)

    def _hidden(self, text: str, depth: int = _DEEPEST) -> Iterator[tuple[int, int]]:
        """Where an encoding hides something private."""
        for hidden in encoded_texts(text):
            for start, end in self._plain(hidden.text):
                if end - start >= SHORTEST or len(hidden.text) >= _LONG_ENOUGH:
                    yield hidden.source(start, end)
            # What stands before and after in the text may have made a letter more at each end.
            yield from (hidden.source(*span) for span in self._without_spaces(squeezed(hidden.text)))
            if depth > 1 and len(hidden.text) >= 2 * SHORTEST:
                yield from (hidden.source(*span) for span in self._hidden(hidden.text, depth - 1))
        for hidden in spaced_texts(text):
            yield from self._without_spaces(hidden)
        yield from self._backwards(text)

    def _without_spaces(self, letters: Hidden) -> Iterator[tuple[int, int]]:
        return (letters.source(*span) for span in self._squeezed.found_in(letters.text))

    def _backwards(self, text: str) -> Iterator[tuple[int, int]]:
        """Read from its end. Few texts are: the words tell first whether it is worth the trouble."""
        tokenized = next(tokenized_texts(text))
        if not self._reversed.may_be_in(tokenized):
            return
        mirrored = text[::-1]
        for start, end in self._plain(mirrored):
            word = mirrored[start:end]
            if end - start >= (_SHORTEST_REVERSED_WORD if word.isalpha() else SHORTEST):
                yield len(text) - end, len(text) - start

    @cached_property
    def _squeezed(self) -> Squeezed:
        kinds = self._passages.kinds
        joined = ("".join(words) for words, kind in kinds.items() if kind is not PassageKind.CAPITAL)
        return Squeezed.of([*joined, *(value.replace(".", "") for value in self._passages.values)])

    @cached_property
    def _reversed(self) -> Reversed:
        return Reversed.of(self._passages)

    def _found(self, text: str, tokenized: TokenizedText) -> Iterator[tuple[int, int]]:
        """Places of words, those of one kind in their order."""
        begin = reached = 0
        for first, end, kind in self._candidates(tokenized):
            if end > reached and (kind is PassageKind.ANYWHERE or kind.fits(text, tokenized, first, end)):
                if first > reached > begin:
                    yield begin, reached
                begin, reached = (first if first > reached else begin), end
        if reached > begin:
            yield begin, reached
        alone = self._alone.intersection(tokenized.words)
        for first in [at for at, word in enumerate(tokenized.words) if word in alone] if alone else ():
            if self._passages.kinds[tokenized.words[first],].fits(text, tokenized, first, first + 1):
                yield first, first + 1
        if self._passages.values:
            yield from ((index, index + 1) for index, _ in sums_in(tokenized, self._passages.values))

    def _candidates(self, tokenized: TokenizedText) -> Iterator[tuple[int, int, PassageKind]]:
        """Every passage of two words and more, whether or not it stands as it should."""
        words, kinds, sizes = tokenized.words, self._passages.kinds, self._sizes
        begins = [(first, sizes[pair]) for first, pair in enumerate(pairwise(words)) if pair in sizes]
        for first, known in begins:
            for end in (first + size for size in known):
                kind = kinds.get(words[first:end])
                if kind is not None and end <= len(words):
                    yield first, end, kind


NOTHING = PrivateText(Passages({}, set()))


@lru_cache(maxsize=_MOST_TEXTS_KEPT)
def _kept(private: PrivateText, text: str) -> str:
    """Every turn tells the conversation before it again: to the store, to traces, to those who look on."""
    return private._redacted(text)


class _Cleaning:
    """One pass over a document. It keeps its own stack, because a document may be nested without end."""

    def __init__(self, private: PrivateText, numbers: bool) -> None:
        self._private = private
        self._numbers = numbers
        self._pending: list[tuple[Any, Any]] = []

    def copy(self, document: Any) -> Any:
        copied = self._value(document)
        while self._pending:
            source, target = self._pending.pop()
            if isinstance(source, dict):
                for key, value in source.items():
                    target[self._key(key, target)] = self._value(value)
            else:
                target.extend(map(self._value, source))
        return copied

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._private.redact(value)
        if isinstance(value, dict | list | tuple):
            copied: Any = {} if isinstance(value, dict) else []
            self._pending.append((value, copied))
            return copied
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return MARK if self._numbers and is_number and self._private.leaks(str(value)) else value

    def _key(self, key: Any, taken: dict[Any, Any]) -> Any:
        """Two private keys stay two; a field's name, as programs know it, is no passage."""
        if not isinstance(key, str) or _FIELD_NAME.fullmatch(key):
            return key
        clean = self._private.redact(key)
        number = len(taken)
        while clean in taken:
            number += 1
            clean = f"{MARK} {number}"
        return clean


def private_text_of(home: Home, run: Run) -> PrivateText:
    """Of the version a run is pinned to. What was private when a person last accepted one stays private."""
    record = read_records(home).get(run.expert, Record())
    known = record.accepts_run(run.digest, run.created_at)
    return private_text(home.snapshots, run.digest, accepted="" if known else record.digest)


def private_text(snapshots: Path, digest: str, accepted: str = "") -> PrivateText:
    """Of the package with this digest, and of other versions: what they told, state files carry over.

    What is private in the `accepted` version is so here, even where this one says it in public. Nothing
    when the snapshot is gone or there is no private knowledge."""
    try:
        versions = tuple(sorted(os.listdir(snapshots)))  # noqa: PTH208 - names are all it takes
        if digest not in versions:
            return NOTHING
        return _of_versions(snapshots, digest, versions, accepted if accepted in versions else "")
    except FileNotFoundError:
        return NOTHING


@lru_cache(maxsize=_MOST_KEPT)
def _of_versions(snapshots: Path, digest: str, versions: Sequence[str], accepted: str) -> PrivateText:
    package = _package(snapshots / digest)
    others = [private_bodies(snapshots / each, package.name) for each in versions if each != digest]
    also = dict.fromkeys(body for bodies in others for body in bodies)
    private = PrivateText.of_package(package, also=tuple(also))
    return private.together(PrivateText.of_package(_package(snapshots / accepted))) if accepted else private


def _package(folder: Path) -> Package:
    from colleague.packages.package import read_package

    package = read_package(folder).package
    if package is None:
        raise FileNotFoundError(folder)
    return package


def _public_paths(package: Package) -> Iterator[str]:
    yield MANIFEST
    components = package.manifest.components
    if components.orchestrator:
        yield components.orchestrator[0]
    for part in (package.persona, package.functions, package.processes, package.tools, package.state):
        yield from (item.path for item in part)
    yield from (item.path for item in package.public_knowledge)


def _reader(root: Path) -> Callable[[str], str]:
    folder = PackageFolder(root, Findings())
    return lambda path: folder.read(path, Mark(path)) or ""


def _unquoted(tokenized: TokenizedText, first: int, end: int) -> list[tuple[int, int]]:
    """Where these words stand; one by one when there is a quotation mark, maybe the end of a JSON string."""
    place = tokenized.place(first, end)
    return tokenized.spans[first:end] if '"' in tokenized.view[place] else [(place.start, place.stop)]


def _joined(spans: list[tuple[int, int]], view: str) -> list[tuple[int, int]]:
    """Two with nothing but signs between them, quotation marks apart, are one."""
    joined = [spans[0]]
    for start, end in spans[1:]:
        first, last = joined[-1]
        if start <= last or not _APART.search(view, last, start):
            joined[-1] = (first, max(last, end))
        else:
            joined.append((start, end))
    return joined


def _replaced(text: str, spans: list[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        # A backslash that is left alone before the mark would be a wrong escape in JSON.
        parts += [text[at:start].rstrip("\\"), MARK]
        at = end
    return "".join([*parts, text[at:]])
