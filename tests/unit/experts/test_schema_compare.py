"""An operation against the tool it is bound to: what is told, and what is left alone."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.experts.bindings import ToolBinding
from colleague.experts.runs.schema_compare import Difference, compare, offered_schema, server_tool_name
from colleague.mcp.mcp_tool import McpTool
from colleague.packages.mark import Mark
from colleague.packages.tool_declaration import Operation

AT = Mark("tools/crm.yaml", 3)
TEXT = {"type": "string"}
NUMBER = {"type": "number"}
NULL = {"type": "null"}


def operation(input_: Any = None, output: Any = None) -> Operation:
    """The input and output are given as properties, or as a whole schema when they have a type."""
    return Operation(
        at=AT, name="get_contact", description="", input=whole(input_ or {}), output=whole(output or {})
    )


def whole(shape: dict[str, Any]) -> dict[str, Any]:
    return shape if isinstance(shape.get("type"), str) else {"type": "object", "properties": shape}


def served(input_schema: Any, output_schema: Any = None) -> McpTool:
    return McpTool(
        server="hub",
        name="find",
        title="",
        description="",
        input_schema=input_schema,
        output_schema=output_schema,
        read_only=False,
        idempotent=False,
        destructive=True,
    )


def taking(properties: Any, **more: Any) -> McpTool:
    return served({"type": "object", "properties": properties, **more})


def answering(properties: Any, **more: Any) -> McpTool:
    return served({"type": "object"}, {"type": "object", "properties": properties, **more})


def differences(ours: Operation, theirs: McpTool) -> list[str]:
    return [each.message for each in compare("crm", ours, theirs)]


def test_the_name_on_the_server_is_mapped_or_the_same() -> None:
    binding = ToolBinding(at=AT, type="mcp", server="hub", operations={"get_contact": "find", "empty": ""})
    assert server_tool_name(binding, "get_contact") == "find"
    assert server_tool_name(binding, "get_deal") == "get_deal"
    assert server_tool_name(binding, "empty") == "empty"


def test_a_required_argument_that_the_package_does_not_declare() -> None:
    theirs = taking({"email": TEXT, "portal": TEXT}, required=["email", "portal"])
    assert compare("crm", operation({"email": TEXT}), theirs) == [
        Difference(
            "crm.get_contact: hub/find requires 'portal', which the package does not declare;"
            " calls without it are refused",
            "refused",
        )
    ]


def test_a_required_argument_that_the_package_leaves_optional() -> None:
    theirs = taking({"email": TEXT, "name": TEXT}, required=["email", "name"])
    ours = operation({"type": "object", "properties": {"email": TEXT, "name": TEXT}, "required": ["email"]})
    [only] = differences(ours, theirs)
    assert "requires 'name', which the package leaves optional" in only
    assert differences(operation({"email": TEXT, "name": TEXT}), theirs) == []


def test_an_argument_the_server_does_not_know() -> None:
    ours = operation({"email": TEXT, "phone": TEXT})
    message = "crm.get_contact: the package declares 'phone', which hub/find does not know and "
    theirs = {"email": TEXT}
    assert compare("crm", ours, taking(theirs)) == [Difference(f"{message}may ignore", "ignored")]
    closed = taking(theirs, additionalProperties=False)
    assert compare("crm", ours, closed) == [Difference(f"{message}refuses", "refused")]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"email": TEXT}, "additionalProperties": True},
        {"type": "object", "properties": {"email": TEXT}, "additionalProperties": TEXT},
        {"type": "object", "properties": {"email": TEXT}, "patternProperties": {"^p": TEXT}},
        {"type": "object", "properties": {"email": TEXT}, "$ref": "https://example.org/contact.json"},
        {"type": "object", "properties": {"email": TEXT}, "$ref": "#contact"},
        {"type": "object", "anyOf": [{"properties": {"phone": TEXT}}, {"properties": {"email": TEXT}}]},
        {"type": "object", "properties": {"email": TEXT}, "if": {}, "then": {"properties": {"phone": TEXT}}},
        {"type": "object", "allOf": [{"properties": {"email": TEXT}}, {"properties": {"phone": TEXT}}]},
        {
            "type": "object",
            "allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
            "$defs": {"A": {"properties": {"phone": TEXT}}, "B": {"properties": {"email": TEXT}}},
        },
    ],
)
def test_what_the_server_leaves_open_fits(schema: Any) -> None:
    assert differences(operation({"email": TEXT, "phone": TEXT}), served(schema)) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        ("string", "integer", "string in the package and number in hub/find"),
        ("string", "array", "string in the package and array in hub/find"),
        ("object", ["string", "null"], "object in the package and string in hub/find"),
        ("boolean", ["string", "number"], "boolean in the package and number or string in hub/find"),
        ("string", "null", "string in the package and null in hub/find"),
        ("integer", "number", ""),
        ("number", "integer", ""),
        ("string", ["string", "null"], ""),
        (["string", "null"], "string", ""),
        ("string", "file", ""),
        ("string", 7, ""),
        ("string", [], ""),
    ],
)
def test_types(ours: Any, theirs: Any, told: str) -> None:
    found = compare("crm", operation({"limit": {"type": ours}}), taking({"limit": {"type": theirs}}))
    expected = f"crm.get_contact: 'limit' is {told}; calls with it are refused"
    assert found == ([Difference(expected, "refused")] if told else [])


DEFS = {"Text": TEXT, "Id": {"$ref": "#/$defs/Whole"}, "Whole": {"type": "integer"}, "a/b": NUMBER}


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        ({"anyOf": [TEXT, NULL]}, True),
        ({"anyOf": [NUMBER, NULL]}, False),
        ({"oneOf": [NUMBER, {"type": "boolean"}]}, False),
        ({"anyOf": [NUMBER, TEXT]}, True),
        ({"anyOf": [NUMBER, True]}, True),
        ({"anyOf": [NUMBER, {}]}, True),
        ({"$ref": "#/$defs/Text"}, True),
        ({"$ref": "#/$defs/Id"}, False),
        ({"$ref": "#/$defs/a~1b"}, False),
        ({"$ref": "#/%24defs/Id"}, False),
        ({"$ref": "#Id"}, True),
        ({"$ref": "#/$defs/Nobody"}, True),
        ({"$ref": "#/$defs/Loop"}, True),
        ({"$ref": 5}, True),
        ({"allOf": [{"$ref": "#/$defs/Id"}]}, False),
        ({"anyOf": [{"$ref": "#/$defs/Id"}, NULL]}, False),
        ({"anyOf": [{"anyOf": [NUMBER, TEXT]}, NUMBER]}, True),
        (True, True),
        ({}, True),
    ],
)
def test_references_and_unions_tell_only_what_is_sure(schema: Any, fits: bool) -> None:
    theirs = taking({"id": schema}, **{"$defs": {**DEFS, "Loop": {"$ref": "#/$defs/Loop"}}})
    assert (differences(operation({"id": TEXT}), theirs) == []) is fits


def test_parts_of_allof_count_together() -> None:
    parts = [{"properties": {name: TEXT}, "required": [name]} for name in ("email", "portal", "zone")]
    found = differences(operation({"email": TEXT, "phone": TEXT}), served({"type": "object", "allOf": parts}))
    assert [message.partition("'")[2].partition("'")[0] for message in found] == ["portal", "zone", "phone"]


def test_more_parts_than_are_read_leave_it_open() -> None:
    parts = [{"properties": {f"p{number}": TEXT}} for number in range(500)]
    theirs = served({"type": "object", "allOf": parts})
    assert differences(operation({"p0": TEXT, "p499": TEXT}), theirs) == []


def test_an_enum_that_is_narrower() -> None:
    ours = operation({"stage": {"type": "string", "enum": ["won", "lost", "open"]}})
    narrower = taking({"stage": {"type": "string", "enum": ["open"]}})
    assert compare("crm", ours, narrower) == [
        Difference(
            "crm.get_contact: 'stage' may be 'won', 'lost' in the package, which hub/find refuses", "refused"
        )
    ]
    assert len(differences(ours, taking({"stage": {"const": "open"}}))) == 1
    assert differences(ours, taking({"stage": {"enum": ["won", "lost", "open", "new"]}})) == []
    assert differences(ours, taking({"stage": {"anyOf": [{"enum": ["won"]}, TEXT]}})) == []


def test_an_enum_on_one_side_only_fits() -> None:
    assert differences(operation({"stage": TEXT}), taking({"stage": {"enum": ["open"]}})) == []
    assert differences(operation({"stage": {"enum": ["open"]}}), taking({"stage": TEXT})) == []


def test_enum_values_are_compared_as_json_does() -> None:
    assert differences(operation({"n": {"enum": [1, None, [2]]}}), taking({"n": {"enum": [1.0]}})) == []
    assert len(differences(operation({"n": {"enum": [1]}}), taking({"n": {"enum": [True]}}))) == 1
    assert len(differences(operation({"n": {"enum": [""]}}), taking({"n": {"enum": ["x"]}}))) == 1
    [huge] = differences(operation({"n": {"enum": [10**5000]}}), taking({"n": {"enum": [1]}}))
    assert "may be a huge number in the package" in huge


def test_within_objects_and_lists() -> None:
    ours = operation(
        {
            "to": {"type": "array", "items": {"type": "object", "properties": {"name": TEXT, "mail": TEXT}}},
            "from": {"type": "object"},
        }
    )
    person = {"type": "object", "properties": {"name": NUMBER, "id": TEXT}, "required": ["id"]}
    listed = {"type": "array", "items": {"$ref": "#/$defs/Person"}}
    theirs = taking({"to": listed, "from": {"$ref": "#/$defs/Person"}}, **{"$defs": {"Person": person}})
    assert differences(ours, theirs) == [
        "crm.get_contact: hub/find requires 'to[].id', which the package does not declare;"
        " calls without it are refused",
        "crm.get_contact: the package declares 'to[].mail', which hub/find does not know and may ignore",
        "crm.get_contact: 'to[].name' is string in the package and number in hub/find;"
        " calls with it are refused",
    ]


def test_a_package_that_declares_no_input_leaves_it_to_the_server() -> None:
    assert differences(operation({"type": "object"}), taking({"id": TEXT}, required=["id"])) == []


def test_the_answer() -> None:
    ours = operation({}, {"name": TEXT, "age": NUMBER, "mood": {"enum": ["good"]}, "gone": TEXT})
    theirs = answering({"name": TEXT, "age": TEXT, "mood": {"enum": ["good", "bad"]}, "more": TEXT})
    found = compare("crm", ours, theirs)
    assert {each.harm for each in found} == {"misread"}
    assert [each.message.removeprefix("crm.get_contact: ") for each in found] == [
        "the package expects 'gone' in the answer; hub/find does not say that it is there",
        "the package expects 'age' in the answer to be number; with hub/find it is string",
        "the package does not expect 'mood' in the answer to be 'bad'; with hub/find it may be",
    ]


def test_an_answer_is_compared_only_where_both_sides_describe_it() -> None:
    ours = operation({}, {"name": TEXT})
    assert differences(ours, served({"type": "object"})) == []
    assert differences(ours, served({"type": "object"}, {})) == []
    assert differences(ours, served({"type": "object"}, {"type": "object"})) == []
    silent = operation({}, {"type": "object"})
    assert differences(silent, served({"type": "object"}, {"type": "array"})) == []


def test_an_answer_wrapped_as_result() -> None:
    assert differences(operation({}, {"type": "array"}), answering({"result": {"type": "array"}})) == []
    [wrong] = differences(operation({}, {"type": "array"}), answering({"result": TEXT}))
    assert "the package expects the answer to be array; with hub/find it is string" in wrong
    assert len(differences(operation({}, {"deals": TEXT}), answering({"result": TEXT}))) == 1


def test_names_from_a_server_reach_no_terminal_raw() -> None:
    hostile = "\x1b[2J" + "x" * 5000
    theirs = taking({hostile: TEXT}, required=[hostile, hostile])
    [only] = differences(operation({"email": TEXT}), theirs)[:1]
    assert "\x1b" not in only
    assert len(only) < 250


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array"},
        {"type": "object", "properties": [], "required": "email", "allOf": {}, "anyOf": "x"},
        {"type": "object", "properties": {"email": None}, "required": [None, 5, {}]},
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"anyOf": [{"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}] * 200},
        {"type": "object", "properties": {"email": {"$ref": "#/properties/email"}}},
        {"$ref": "#/$defs/0/%7e/~", "$defs": [1]},
    ],
)
def test_a_schema_that_is_nonsense_is_no_reason_to_fall(schema: Any) -> None:
    ours = operation({"email": TEXT, "to": {"type": "array", "items": TEXT}}, {"email": TEXT})
    compare("crm", ours, served(schema, schema))
    offered_schema(ours, served(schema))


# What the model is shown


def test_the_model_is_shown_the_servers_schema_in_the_packages_words_where_it_has_none() -> None:
    ours = operation(
        {
            "email": {"type": "string", "description": "ours"},
            "to": {
                "type": "array",
                "items": {"type": "object", "properties": {"n": {"description": "ours"}}},
            },
            "ref": {"description": "ours"},
            "gone": {"description": "ours"},
            "silent": TEXT,
        }
    )
    theirs = taking(
        {
            "email": {"type": "string", "description": "theirs"},
            "to": {"type": "array", "items": {"properties": {"n": {"type": "integer", "description": ""}}}},
            "ref": {"$ref": "#/$defs/R"},
            "silent": TEXT,
            "only": TEXT,
        },
        required=["only"],
        **{"$defs": {"R": TEXT}},
    )
    before = copy.deepcopy(theirs.input_schema)
    assert offered_schema(ours, theirs) == {
        "type": "object",
        "properties": {
            "email": {"type": "string", "description": "theirs"},
            "to": {
                "type": "array",
                "items": {"properties": {"n": {"type": "integer", "description": "ours"}}},
            },
            "ref": {"$ref": "#/$defs/R"},
            "silent": TEXT,
            "only": TEXT,
        },
        "required": ["only"],
        "$defs": {"R": TEXT},
    }
    assert theirs.input_schema == before


def test_arguments_are_an_object_even_where_the_server_does_not_say_so() -> None:
    assert offered_schema(operation({}), served({})) == {"type": "object"}


# For every schema

KINDS = ["string", "number", "integer", "boolean", "object", "array", "null"]
VALUES: list[Any] = ["a", "b", "", 0, 1, 1.5, -3, True, False, {}, {"a": 1}, [], ["a"]]
ENUMS = st.lists(st.sampled_from(["a", "b", 0, 1, True]), min_size=1, max_size=3)

declared = st.one_of(
    st.just({}),
    st.builds(lambda kind: {"type": kind}, st.sampled_from(KINDS[:-1])),
    st.builds(lambda values: {"enum": values}, ENUMS),
)
leaves = st.one_of(
    st.booleans(),
    declared,
    st.builds(lambda kinds: {"type": kinds}, st.lists(st.sampled_from(KINDS), min_size=1, unique=True)),
    st.sampled_from([{"$ref": "#/$defs/Text"}, {"$ref": "#/$defs/Number"}, {"const": "a"}, NULL]),
)
schemas = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda word, parts, more: {**(more if isinstance(more, dict) else {}), word: parts},
        st.sampled_from(["anyOf", "oneOf", "allOf"]),
        st.lists(inner, min_size=1, max_size=3),
        inner,
    ),
    max_leaves=8,
)


@given(declared, schemas, st.booleans(), st.booleans())
@settings(max_examples=600)
def test_what_is_told_of_an_argument_is_true(ours: Any, theirs: Any, required: bool, closed: bool) -> None:
    """Checked against a validator: a type that is refused is refused with each of its values, and so on."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"x": theirs},
        "required": ["y"] if required else [],
        "$defs": {"Text": TEXT, "Number": NUMBER},
    }
    if closed:
        schema["additionalProperties"] = False
    accepts = jsonschema_rs.validator_for({**schema, "required": []})
    fits = [v for v in VALUES if jsonschema_rs.is_valid(ours, v)]
    taken = [v for v in fits if accepts.is_valid({"x": v})]
    found = {each.message for each in compare("crm", operation({"x": ours, "z": TEXT}), served(schema))}
    for message in found:
        if "'x' is" in message:
            assert not taken
        if "'x' may be" in message:
            assert len(taken) < len(fits)
        if "requires 'y'" in message:
            assert required
        if "and refuses" in message:
            assert not accepts.is_valid({"z": "text"})
    assert any("'z'" in message for message in found)
    assert any("'y'" in message for message in found) is required


shapes = st.recursive(
    st.one_of(
        st.just({}),
        st.builds(lambda kind: {"type": kind}, st.sampled_from(KINDS[:-1])),
        st.builds(
            lambda values: {"type": "string", "enum": values}, st.lists(st.text(max_size=5), min_size=1)
        ),
    ),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(
            lambda properties: {"type": "object", "properties": properties, "required": list(properties)},
            st.dictionaries(st.text(max_size=8), inner, max_size=4),
        ),
    ),
    max_leaves=12,
)
inputs = st.dictionaries(st.text(max_size=8), shapes, max_size=4).map(
    lambda properties: {"type": "object", "properties": properties}
)


def optional(schema: Any) -> Any:
    """The same, written as generators of schemas write it: each part a reference, or null."""
    if not isinstance(schema, dict):
        return schema
    inner = {key: optional(value) if key == "items" else value for key, value in schema.items()}
    if "properties" in inner:
        inner["properties"] = {name: optional(each) for name, each in inner["properties"].items()}
    return {"anyOf": [{"allOf": [inner]}, NULL], "title": "T", "default": None}


@given(inputs, inputs)
@settings(max_examples=200)
def test_a_server_that_says_the_same_in_any_way_fits(ours: Any, answer: Any) -> None:
    op = operation(ours, answer)
    assert compare("crm", op, served(ours, answer)) == []
    assert compare("crm", op, served(optional(ours), optional(answer))) == []
    defs = {"$ref": "#/$defs/Whole", "$defs": {"Whole": ours}}
    assert compare("crm", op, served(defs, answer)) == []


words = st.sampled_from(
    [
        *("type", "properties", "required", "items", "enum", "const", "$ref", "$defs", "anyOf", "oneOf"),
        *("allOf", "additionalProperties", "description", "email", "result", "#", "object", "string"),
    ]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=5),
    max_leaves=25,
)


@given(inputs, st.dictionaries(words, json_values, max_size=6))
@settings(max_examples=250)
def test_any_json_at_all_can_be_compared_and_is_not_changed(ours: Any, theirs: Any) -> None:
    before = copy.deepcopy(theirs)
    op = operation(ours, ours)
    for each in compare("crm", op, served(theirs, theirs)):
        assert each.message.startswith("crm.get_contact: ")
        assert "\n" not in each.message
    offered = offered_schema(op, served(theirs))
    assert theirs == before
    assert without_words(offered) == without_words({"type": "object"} | theirs)


def without_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_words(each) for key, each in value.items() if key != "description"}
    return [without_words(each) for each in value] if isinstance(value, list) else value
