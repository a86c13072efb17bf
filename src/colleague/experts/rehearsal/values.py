"""The arguments of calls and the outputs of functions and processes, all true to their schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from colleague.experts.json_schema import SchemaDocument
from colleague.experts.rehearsal.known import Known
from colleague.experts.rehearsal.sample import NothingKnown, Sampler, WantedValue
from colleague.packages.parameter import Parameter, object_schema


def arguments_for(schema: Any, known: Known, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Required arguments always; optional ones only where a value is known. `given` are those that an author
    wrote, where they fit."""
    document = SchemaDocument(schema)
    chosen = _chosen(document, Sampler(document, known))
    written = chosen | dict(given or {})
    if document.fits(schema, written):
        return written
    if document.fits(schema, chosen):
        return chosen
    made_up = Sampler(document, NothingKnown()).value("", schema)
    return made_up if isinstance(made_up, dict) and document.fits(schema, made_up) else chosen


def outputs_for(parameters: Iterable[Parameter], known: Known) -> dict[str, Any]:
    """A value for each output."""
    schema = object_schema(parameters)
    sampler = Sampler(SchemaDocument(schema), _Outputs(known))
    return {name: sampler.value(name, part) for name, part in schema["properties"].items()}


def _chosen(document: SchemaDocument, sampler: Sampler) -> dict[str, Any]:
    schema = document.plain(document.root) or {}
    properties, required = schema.get("properties"), schema.get("required")
    properties = properties if isinstance(properties, dict) else {}
    required = [each for each in required if isinstance(each, str)] if isinstance(required, list) else []
    chosen: dict[str, Any] = {}
    for name in dict.fromkeys([*required, *properties]):
        part = properties.get(name, {})
        try:
            chosen[name] = sampler.value(name, part) if name in required else sampler.known(name, part)
        except LookupError:
            continue
    return chosen


@dataclass(frozen=True)
class _Outputs:
    """Known values as outputs: of a choice, the one after what holds now, so that an effect can be seen."""

    known: Known

    def candidates(self, want: WantedValue) -> Iterator[Any]:
        choices = want.schema.get("enum")
        if not isinstance(choices, list):
            yield from self.known.candidates(want)
            return
        yield from self.known.from_functions(want)
        for present in self.known.from_results(want):
            if present in choices:
                yield choices[min(choices.index(present) + 1, len(choices) - 1)]
