"""YAML as authors write it, and as attackers do."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.packages.nodes import (
    MAX_DEPTH,
    MAX_SIZE,
    Mapping,
    NodeError,
    Scalar,
    Sequence,
    mark_of,
    parse,
    plain,
)

FILE = "expert.yaml"


def mapping(text: str) -> Mapping:
    node = parse(text, FILE)
    assert isinstance(node, Mapping)
    return node


def scalar(text: str) -> Scalar:
    """The scalar that `text` is as the value of a key."""
    node = mapping(f"key: {text}").entries["key"]
    assert isinstance(node, Scalar)
    return node


def refusal(text: str, first_line: int = 1) -> NodeError:
    with pytest.raises(NodeError) as error:
        parse(text, FILE, first_line=first_line)
    assert error.value.at.file == FILE
    return error.value


# Values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", True),
        ("yes", True),
        ("Off", False),
        ("no", False),
        ("true", True),
        ("010", 8),
        ("0x1F", 31),
        ("0b101", 5),
        ("1_000", 1000),
        ("-12", -12),
        ("1.10", 1.1),
        ("1e3", "1e3"),
        ("1.0e+3", 1000.0),
        ("~", None),
        ("null", None),
        ("2026-01-01", "2026-01-01"),
        ("12:30", "12:30"),
        ("1:30.5", "1:30.5"),
        ("08", "08"),
        ("-017", "-017"),
        ("=", "="),
        ("1.0.0", "1.0.0"),
    ],
)
def test_a_scalar_keeps_the_text_beside_the_value(text: str, value: object) -> None:
    node = scalar(text)
    assert node.text == text
    assert node.value == value
    assert type(node.value) is type(value)


@pytest.mark.parametrize("quoted", ['"yes"', "'yes'", "!!str yes"])
def test_a_quoted_word_is_a_word(quoted: str) -> None:
    assert scalar(quoted).value == "yes"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("!custom 12", "!custom"),
        ("!!python/object:os.system ls", "!!python/object:os.system"),
        ("!!python/object/apply:os.system [ls]", "!!python/object/apply:os.system"),
        ("!!binary aGVsbG8=", "!!binary"),
        ("!!set {a, b}", "!!set"),
        ("!!omap [a: 1]", "!!omap"),
        ("!!timestamp 2026-01-01", "!!timestamp"),
        ("!!str [a]", "!!str"),
        ("!!map a", "!!map"),
        ("!<tag:example.org,2026:x> a", "tag:example.org,2026:x"),
    ],
)
def test_a_tag_that_is_not_plain_data_is_refused_with_its_line(text: str, shown: str) -> None:
    error = refusal(f"name: a\nkey: {text}\n")
    assert (error.code, error.at.line) == ("yaml-tag", 2)
    assert shown in error.message


@pytest.mark.parametrize(
    ("text", "value"), [("!!int 3", 3), ("!!seq [a]", ["a"]), ("!!map {a: 1}", {"a": 1}), ("!!null ''", None)]
)
def test_the_tags_of_plain_data_are_read(text: str, value: object) -> None:
    assert plain(mapping(f"key: {text}")) == {"key": value}


@pytest.mark.parametrize("text", ["!!int abc", "!!float abc", "! 12"])
def test_a_tag_that_does_not_fit_leaves_the_text(text: str) -> None:
    assert scalar(text).value == text.partition(" ")[2]


def test_not_a_number_and_no_end() -> None:
    assert str(scalar(".NaN").value) == "nan"
    assert scalar("-.inf").value == float("-inf")


@pytest.mark.parametrize("text", ["9" * 5000, "0x" + "f" * 20_000, "0" + "7" * 20_000, "0b" + "1" * 100_000])
def test_a_number_too_long_to_print_stays_text(text: str) -> None:
    node = scalar(text)
    assert node.value == text
    assert repr(node)


def test_a_long_number_is_still_a_number() -> None:
    assert scalar("9" * 100).value == int("9" * 100)


def test_keys_are_what_was_typed() -> None:
    assert list(mapping("on: 1\nyes: 2\n1.10: 3\n010: 4\n~: 5\n").entries) == [
        "on",
        "yes",
        "1.10",
        "010",
        "~",
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "null", "~"])
def test_an_empty_document_is_nothing(text: str) -> None:
    assert parse(text, FILE) is None


def test_plain_is_dicts_and_lists() -> None:
    assert plain(parse("a: [1, {b: yes}, ~]\nc: |\n  text\n", FILE)) == {
        "a": [1, {"b": True}, None],
        "c": "text\n",
    }


# Places


def test_every_value_knows_its_line() -> None:
    node = mapping(
        "# comment\na:\n  - b: 1\n    c: >-\n      folded\n      text\n  - d\ne: {f: 2,\n  g: 3}\n"
    )
    assert mark_of(node, "a").line == 2
    assert mark_of(node, "a", 0).line == 3
    assert mark_of(node, "a", 0, "c").line == 4
    assert mark_of(node, "a", 1).line == 7
    assert mark_of(node, "e", "g").line == 9


def test_the_first_line_may_be_another() -> None:
    node = parse("a: 1\nb: 2\n", FILE, first_line=10)
    assert node is not None
    assert str(mark_of(node, "b")) == "expert.yaml:11"


def test_a_mark_is_as_near_as_possible() -> None:
    node = mapping("a:\n  b:\n    - c\n")
    assert mark_of(node, "a", "b", 7, "x").line == mark_of(node, "a", "b").line == 2
    assert mark_of(node, "z").line == 1


# Aliases and merges


def test_an_alias_is_the_value() -> None:
    assert plain(mapping("a: &x [1, 2]\nb: *x\n")) == {"a": [1, 2], "b": [1, 2]}


def test_a_merge_fills_what_is_missing() -> None:
    node = mapping("base: &b {x: 1, y: 2}\nitem:\n  <<: *b\n  y: 3\n")
    assert plain(node)["item"] == {"x": 1, "y": 3}
    assert mark_of(node, "item", "x").line == 1
    assert mark_of(node, "item", "y").line == 4


def test_the_first_of_several_merges_wins() -> None:
    node = mapping("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc:\n  <<: [*a, *b]\n")
    assert plain(node)["c"] == {"x": 1, "y": 2}


@pytest.mark.parametrize("value", ["3", "[1]", "[{a: 1}, 2]"])
def test_only_a_mapping_can_be_merged(value: str) -> None:
    assert refusal(f"a:\n  <<: {value}\n").code == "yaml-invalid"


def test_an_unknown_alias() -> None:
    error = refusal("a: 1\nb: *gone\n")
    assert (error.code, error.at.line) == ("yaml-invalid", 2)
    assert "*gone" in error.message


# Mistakes


@pytest.mark.parametrize(
    "text", ["a: 1\nb: 2\na: 3\n", "x: {a: 1,\n b: 2,\n a: 3}", "- a: 1\n  b: 2\n  a: 3\n"]
)
def test_a_duplicate_key(text: str) -> None:
    error = refusal(text)
    assert (error.code, error.at.line) == ("yaml-duplicate-key", 3)
    assert error.message == "'a' stands twice in one mapping, first on line 1"


def test_the_same_word_typed_in_two_ways_is_the_same_key() -> None:
    assert refusal("a: 1\n'a': 2\n").code == "yaml-duplicate-key"


def test_a_tab_is_named() -> None:
    error = refusal("a:\n\tb: 1\n")
    assert (error.code, error.at.line, error.hint) == ("yaml-invalid", 2, "indent with spaces, not tabs")


@pytest.mark.parametrize("character", ["\0", "\x07", "\x1b", "\x7f", "\ufffe"])
def test_a_control_character_is_found_on_its_line(character: str) -> None:
    error = refusal(f"a: {'é' * 50}\nb: 2\nc: x{character}y\n" + "# more\n" * 50)
    assert (error.code, error.at.line) == ("yaml-invalid", 3)


def test_a_second_document() -> None:
    error = refusal("a: 1\n---\nb: 2\n")
    assert (error.code, error.at.line) == ("yaml-invalid", 2)


def test_a_key_that_is_a_list() -> None:
    assert refusal("a: 1\n? [b, c]\n: 2\n").at.line == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: b: c", 1),
        ("a: 1\nb: 'open\n", 3),
        ("a: 1\n b: 2\n", 2),
        ("a: @b", 1),
        ("a: %b", 1),
        ("%YAML 9.9\n---\na", 1),
    ],
)
def test_broken_yaml_names_the_line(text: str, line: int) -> None:
    error = refusal(text)
    assert (error.code, error.at.line) == ("yaml-invalid", line)


def test_broken_yaml_in_frontmatter_counts_from_the_top_of_the_file() -> None:
    assert refusal("a: 1\nb: c: d\n", first_line=2).at.line == 3


# Bombs


def billion_laughs() -> str:
    lines = ["a0: &a0 [lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    return "\n".join(lines)


def deep_by_aliases() -> str:
    """No line is deep, but each ends in the one before."""
    lines = ["a0: &a0 x"]
    lines += [f"a{n}: &a{n} {'[' * 50}*a{n - 1}{']' * 50}" for n in range(1, 40)]
    return "\n".join(lines)


def merges_of_many() -> str:
    many = ", ".join(f"k{n}: 1" for n in range(20_000))
    return f"a: &a {{{many}}}\nb:\n" + "  <<: *a\n" * 20_000


BOMBS = {
    "billion laughs": billion_laughs(),
    "laughs by merging": "a: &a {b: 1}\n" + "\n".join(f"c{n}: &a {{x: *a, y: *a}}" for n in range(40)),
    "itself in a list": "a: &a [*a]",
    "itself in a mapping": "a: &a\n  b:\n    c: *a\n",
    "itself by merging": "a: &a\n  <<: *a\n",
    "deep lists": "[" * 100_000,
    "deep mappings": "{a: " * 100_000,
    "deep dashes": "- " * 100_000,
    "deep by aliases": deep_by_aliases(),
    "a long list": "- a\n" * (MAX_SIZE + 1),
    "a long flow list": "[" + "a," * (MAX_SIZE + 1) + "]",
    "a long mapping": "".join(f"k{n}: 1\n" for n in range(MAX_SIZE)),
    "merges of many": merges_of_many(),
    "directives": "".join(f"%TAG !t{n}! tag:example.org,2026:{n}\n" for n in range(100_000)) + "--- a\n",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_stopped_while_it_is_read(text: str) -> None:
    begin = time.process_time()
    assert refusal(text).code == "yaml-bomb"
    assert time.process_time() - begin < 20


def test_a_bomb_is_found_on_its_line() -> None:
    assert refusal("a: 1\nb: &b\n  - *b\n").at.line == 3


def test_what_is_deep_but_not_too_deep_is_fine() -> None:
    node = parse("[" * MAX_DEPTH + "]" * MAX_DEPTH, FILE)
    assert isinstance(node, Sequence)
    assert node.height == MAX_DEPTH


def test_what_is_long_but_not_too_long_is_fine() -> None:
    node = parse("- a\n" * (MAX_SIZE - 1), FILE)
    assert isinstance(node, Sequence)
    assert len(node.items) == MAX_SIZE - 1


def test_a_value_used_often_is_no_bomb() -> None:
    node = mapping("base: &b {x: 1, y: 2}\n" + "".join(f"k{n}:\n  <<: *b\n" for n in range(1000)))
    assert len(node.entries) == 1001


# Anything


YAMLISH = st.text("ab:-[]{}&*!|>'\"%@`#,? \n\t\r\0~<é\u2028\x85\U0001f600", max_size=60)


@given(YAMLISH)
@settings(max_examples=500)
def test_any_text_is_a_tree_or_a_node_error(text: str) -> None:
    try:
        node = parse(text, FILE)
    except NodeError as error:
        node = Scalar(error.message, error.code, error.at)
    plain(node)
    assert node is None or node.mark.line >= 1
