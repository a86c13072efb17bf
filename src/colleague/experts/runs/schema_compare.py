"""An operation and the server's tool it is bound to: what does not fit, and what the model is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from colleague.experts.json_schema import fold

if TYPE_CHECKING:
    from colleague.experts.bindings import ToolBinding
    from colleague.mcp.mcp_tool import McpTool
    from colleague.packages.tool_declaration import Operation

Harm = Literal["refused", "ignored", "misread"]
"""The server refuses calls; it does not hear an argument; its answer is not what the package expects."""

_UNKNOWN: dict[bool, tuple[str, Harm]] = {True: ("refuses", "refused"), False: ("may ignore", "ignored")}
_Json = Mapping[str, Any]
_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}
_UNIONS = ("anyOf", "oneOf")
_MORE_RULES = ("$dynamicRef", *_UNIONS, "if", "patternProperties", "dependentSchemas")
_MOST_BRANCHES = 50
_MOST_VALUES = 3
_LONGEST = 60
_LARGEST = 10**30


@dataclass(frozen=True)
class Difference:
    """One thing that does not fit, as a sentence that tells what comes of it."""

    message: str
    harm: Harm


def server_tool_name(binding: ToolBinding, operation: str) -> str:
    """The server's name of an operation: the one in the binding, else the same."""
    return binding.operations.get(operation) or operation


def compare(tool: str, operation: Operation, served: McpTool) -> list[Difference]:
    """What surely does not fit. What either side leaves open, or says in a way not understood here, fits."""
    name, there = f"{tool}.{operation.name}", f"{served.server}/{served.name}"
    found = list(_arguments(there, _Pair(operation.input, _Shape.of(served.input_schema))))
    if served.output_schema and operation.output != {"type": "object"}:
        answer = _unwrapped(_Pair(operation.output, _Shape.of(served.output_schema)))
        found += [Difference(each, "misread") for each in _answer(there, answer)]
    return [Difference(f"{name}: {each.message}", each.harm) for each in found]


def offered_schema(operation: Operation, served: McpTool) -> dict[str, Any]:
    """What the model is shown: the server's schema, in the package's words where it has none of its own."""
    return {"type": "object"} | _with_descriptions(served.input_schema, operation.input)


def _with_descriptions(served: _Json, declared: _Json) -> dict[str, Any]:
    worded = dict(served)
    if isinstance(properties := served.get("properties"), Mapping):
        opening = _mapping(declared.get("properties"))
        worded["properties"] = {name: _part(each, opening.get(name)) for name, each in properties.items()}
    if "items" in served:
        worded["items"] = _part(served["items"], declared.get("items"))
    return worded


def _part(served: object, declared: object) -> object:
    if not isinstance(served, Mapping) or not isinstance(declared, Mapping):
        return served
    worded = _with_descriptions(served, declared)
    # Beside a $ref some providers take no other word.
    if "$ref" not in served and not served.get("description") and declared.get("description"):
        worded["description"] = declared["description"]
    return worded


@dataclass(frozen=True)
class _Shape:
    """A part of a server's schema, which may be anything at all. `root` is where its references lead.

    `whole` is False when not all that it refers to was followed."""

    part: _Json
    root: _Json
    whole: bool = True

    @classmethod
    def of(cls, part: object, root: _Json | None = None) -> _Shape:
        """With references, allOf and "this or null" folded into one part."""
        root = _mapping(part) if root is None else root
        folded = fold(part, root, drop_null=True)
        return cls(folded.part, root, folded.whole)

    def kinds(self, *, nested: bool = False) -> frozenset[str]:
        """The types it may have; none when that cannot be told."""
        if "type" in self.part:
            return _kinds(self.part["type"])
        for union in () if nested else _UNIONS:
            branches = _list(self.part.get(union))
            found = [_Shape.of(each, self.root).kinds(nested=True) for each in branches[:_MOST_BRANCHES]]
            if found and all(found) and len(found) == len(branches):
                return frozenset[str]().union(*found)
        return frozenset()

    @property
    def values(self) -> list[Any]:
        return [self.part["const"]] if "const" in self.part else _list(self.part.get("enum"))

    @property
    def required(self) -> list[str]:
        names = (each for each in _list(self.part.get("required")) if isinstance(each, str))
        return list(dict.fromkeys(names))

    @property
    def properties(self) -> _Json:
        return _mapping(self.part.get("properties"))

    @property
    def closed(self) -> bool:
        """It says that it takes no property but its own."""
        return any(self.part.get(word) is False for word in ("additionalProperties", "unevaluatedProperties"))

    @property
    def lists_all(self) -> bool:
        """A property that it does not name is not one of its own."""
        if not self.whole or any(word in self.part for word in _MORE_RULES):
            return False
        return self.closed or ("properties" in self.part and "additionalProperties" not in self.part)


@dataclass(frozen=True)
class _Pair:
    """The same part on both sides; `path` leads to it from the whole."""

    declared: _Json
    served: _Shape
    path: str = ""

    def name(self, inner: str = "") -> str:
        path = ".".join(each for each in (self.path, inner) if each)
        return _quoted(path) if path else ""

    @property
    def kinds(self) -> tuple[str, str] | None:
        """The types on both sides, when none of the package's is one of the server's."""
        ours, theirs = _kinds(self.declared.get("type")), self.served.kinds()
        if not ours or not theirs or ours & theirs:
            return None
        return " or ".join(sorted(ours)), " or ".join(sorted(theirs))

    @property
    def properties(self) -> _Json:
        return _mapping(self.declared.get("properties"))

    def unknown(self) -> list[str]:
        """The properties that only the package has."""
        if not self.served.lists_all:
            return []
        return [self.name(each) for each in self.properties if each not in self.served.properties]

    def within(self) -> Iterator[_Pair]:
        """The parts that both sides describe."""
        for name, declared in self.properties.items():
            if name in self.served.properties:
                shape = _Shape.of(self.served.properties[name], self.served.root)
                yield _Pair(declared, shape, f"{self.path}.{name}" if self.path else name)
        if isinstance(items := self.declared.get("items"), Mapping):
            yield _Pair(items, _Shape.of(self.served.part.get("items"), self.served.root), f"{self.path}[]")


def _arguments(there: str, pair: _Pair) -> Iterator[Difference]:
    name = pair.name() or "the input"
    if kinds := pair.kinds:
        ours, theirs = kinds
        what = f"{name} is {ours} in the package and {theirs} in {there}; calls with it are refused"
        yield Difference(what, "refused")
        return
    if values := _others(_list(pair.declared.get("enum")), pair.served.values):
        yield Difference(f"{name} may be {values} in the package, which {there} refuses", "refused")
    yield from (Difference(what, "refused") for what in _required(there, pair))
    for each in pair.unknown():
        how, harm = _UNKNOWN[pair.served.closed]
        yield Difference(f"the package declares {each}, which {there} does not know and {how}", harm)
    for inner in pair.within():
        yield from _arguments(there, inner)


def _required(there: str, pair: _Pair) -> Iterator[str]:
    """An object the package says nothing about may hold what the server requires."""
    if "properties" not in pair.declared:
        return
    said = pair.declared.get("required")
    for each in pair.served.required:
        how = "does not declare" if each not in pair.properties else "leaves optional"
        if how == "does not declare" or (isinstance(said, list) and each not in said):
            name = pair.name(each)
            yield f"{there} requires {name}, which the package {how}; calls without it are refused"


def _answer(there: str, pair: _Pair) -> Iterator[str]:
    name = f"{pair.name()} in the answer" if pair.path else "the answer"
    if kinds := pair.kinds:
        ours, theirs = kinds
        yield f"the package expects {name} to be {ours}; with {there} it is {theirs}"
        return
    if values := _others(pair.served.values, _list(pair.declared.get("enum"))):
        yield f"the package does not expect {name} to be {values}; with {there} it may be"
    for each in pair.unknown():
        yield f"the package expects {each} in the answer; {there} does not say that it is there"
    for inner in pair.within():
        yield from _answer(there, inner)


def _unwrapped(pair: _Pair) -> _Pair:
    """Many servers put an answer that is no object into an object of its own, as `result`."""
    ours = _kinds(pair.declared.get("type"))
    if not ours or "object" in ours or list(pair.served.properties) != ["result"]:
        return pair
    return _Pair(pair.declared, _Shape.of(pair.served.properties["result"], pair.served.root))


def _kinds(said: object) -> frozenset[str]:
    """The types in `type`, a whole number counted as a number: packages know no other."""
    opening = said if isinstance(said, list) else [said]
    known = [each for each in opening if isinstance(each, str) and each in _TYPES]
    if len(known) < len(opening):
        return frozenset()
    kinds = frozenset("number" if each == "integer" else each for each in known)
    return kinds - {"null"} or kinds


def _others(values: list[Any], known: list[Any]) -> str:
    """Those of `values` that are not known, as words; nothing when either side leaves it open."""
    keys = {_key(each) for each in known}
    others = [each for each in values if _key(each) not in keys] if values and known else []
    shown = [_quoted(each) for each in others if each is not None and not isinstance(each, list | dict)]
    return ", ".join(shown[:_MOST_VALUES]) + (", ..." if len(shown) > _MOST_VALUES else "")


def _key(value: object) -> object:
    """True is not 1, though Python takes them for equal."""
    return None if isinstance(value, list | dict) else (isinstance(value, bool), value)


def _quoted(value: object) -> str:
    """As code, so that nothing in it reaches a terminal raw."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a huge number"
    return repr(value[:_LONGEST] if isinstance(value, str) else value)


def _mapping(value: object) -> _Json:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
