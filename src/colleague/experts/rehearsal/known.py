"""What a rehearsal knows when it needs a value: inputs, outputs of functions, results of operations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from colleague.experts.rehearsal.sample import WantedValue
from colleague.experts.rehearsal.sample_text import is_copied, means_address
from colleague.experts.rehearsal.search import find, find_address

_LONGEST_VALUE = 120
_FEWEST_WORDS = 6
_MOST_CHARACTERS = 20_000
_SENTENCE = re.compile(r"[.!?](\s|$)")


@dataclass(frozen=True)
class SourcedDocument:
    """A document and who it comes from: a function, or an operation as `tool.operation`."""

    by: str
    document: Any

    @property
    def noun(self) -> str:
        """What an operation returns: `crm.get_contact` a contact."""
        verb, _, noun = self.by.rpartition(".")[2].partition("_")
        return noun if verb else ""


@dataclass(frozen=True)
class Known:
    """The outputs of functions and the results of operations stand latest first."""

    inputs: Mapping[str, Any] = field(default_factory=dict)
    functions: tuple[SourcedDocument, ...] = ()
    results: tuple[SourcedDocument, ...] = ()

    def candidates(self, want: WantedValue) -> Iterator[Any]:
        yield from filter(_says_something, self._all(want))

    def from_functions(self, want: WantedValue) -> Iterator[Any]:
        yield from self.result_named(want)
        for told in self.functions:
            yield from find(told.document, want.name)

    def from_results(self, want: WantedValue) -> Iterator[Any]:
        """Only values: a text that someone wrote is not carried into what is sent or kept."""
        for told in self.results:
            found = find(told.document, want.name, noun=told.noun)
            yield from (each for each in found if not _is_prose(each))
            if means_address(want.name, want.description) and not is_copied(want.name):
                yield from find_address(told.document, want.name)

    def result_named(self, want: WantedValue) -> Iterator[Any]:
        """The outputs of the function that a description names: `Result of classify-ticket`."""
        said = want.description.casefold()
        for told in sorted(self.functions, key=lambda each: -len(each.by)):
            if f"result of {told.by.casefold()}" in said:
                yield told.document

    def _all(self, want: WantedValue) -> Iterator[Any]:
        yield from self.from_functions(want)
        yield from find(dict(self.inputs), want.name)
        yield from self.from_results(want)


def _says_something(value: Any) -> bool:
    if isinstance(value, dict | list):
        return bool(value) and len(json.dumps(value, default=str)) <= _MOST_CHARACTERS
    if isinstance(value, str):
        return bool(value.strip()) and len(value) <= _MOST_CHARACTERS
    return value is not None


def _is_prose(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    sentence = len(value.split()) >= _FEWEST_WORDS and _SENTENCE.search(value) is not None
    return sentence or len(value) > _LONGEST_VALUE or "\n" in value
