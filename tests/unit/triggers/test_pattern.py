"""Patterns have the syntax of RE2, and no text makes one hang."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.experts.safe_regex import MAX_LENGTH, MAX_TEXT, parse_pattern


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("invoice", "your invoice is here"),
        ("^urgent", "urgent: call me"),
        ("(?i)URGENT|asap", "Asap please"),
        (r"\binv-\d{4,6}\b", "see inv-20261 today"),
        (r"^(order|offer) #?[0-9]+$", "offer #12"),
        (r"(?P<kind>a|b)+?c", "xabac"),
        (r"(?s)a.b", "a\nb"),
        (r"(?m)^two$", "one\ntwo\nthree"),
        (r"[]x]+\]", "]x]]"),
        (r"[^\]]{3}", "abc"),
        (r"a{0,2}b{2,}c{1}", "bbbc"),
        (r"a{b}", "a{b}"),
        (r"\x41\x{e9}", "Aé"),
        (r"end\z", "the end"),
        ("^.$", "é"),
        ("(?i)É", "é"),
        ("größe|", "anything"),
    ],
)
def test_what_is_found(pattern: str, text: str) -> None:
    assert parse_pattern(pattern).found_in(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("invoice", "INVOICE"),
        ("^urgent", "not urgent"),
        (r"\binv\b", "invoice"),
        (r"^a$", "aa"),
        (r"a.b", "a\nb"),
        (r"x{3}", "xx"),
        (r"a\Bb", "a b"),
    ],
)
def test_what_is_not(pattern: str, text: str) -> None:
    assert not parse_pattern(pattern).found_in(text)


def test_only_the_beginning_of_a_long_text_is_searched() -> None:
    pattern = parse_pattern("needle")
    assert pattern.found_in("x" * (MAX_TEXT - 6) + "needle")
    assert not pattern.found_in("x" * MAX_TEXT + "needle")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "a pattern has 1 to 200 characters, found 0"),
        ("a" * (MAX_LENGTH + 1), "found 201"),
        ("(", "is no pattern for RE2: missing \\)"),
        ("a**", "bad repetition operator"),
        ("*", "no argument for repetition operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("(?P<x>a)(?P=x)", "is no pattern for RE2"),
        ("(?=a)b", "invalid perl operator"),
        ("(?<!a)b", "is no pattern for RE2"),
        ("(?>a)", "invalid perl operator"),
        ("a*+", "bad repetition operator"),
        ("(a)(?(1)b|c)", "is no pattern for RE2"),
        (r"end\Z", "invalid escape sequence"),
        ("a{5000}", "invalid repetition size"),
        ("(((a{9}){9}){9}){9}", "is no pattern for RE2"),
        ("((((){99}){99}){99}){99}", "is no pattern for RE2"),
        ("\ud800", "half a character"),
    ],
)
def test_what_cannot_be_used(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as error:
        parse_pattern(pattern)
    assert len(str(error.value)) < 250


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+b", "(a|a)*b", "(a|aa)+$b", "a*a*a*a*a*a*a*b", "(.*)*x", "(a?){140}b", "(.*a){20}b", "(^|a)*b"],
)
def test_no_text_makes_it_hang(pattern: str) -> None:
    assert not parse_pattern(pattern).found_in("a" * MAX_TEXT)


PART = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", r"\W", r"\b", "^", r"\s", " ", "\\."])
EXPRESSION = st.recursive(
    PART,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map("|".join),
        inner.map("({})".format),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{2,}", "*?", "+?", "??"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)
FLAGS = st.sampled_from(["", "(?i)", "(?m)", "(?s)", "(?ims)"])


@given(FLAGS, EXPRESSION, st.lists(st.text("abAB .\n", max_size=8), min_size=1, max_size=4))
@settings(max_examples=500)
def test_common_patterns_find_what_python_finds(flags: str, expression: str, texts: list[str]) -> None:
    pattern = parse_pattern(flags + expression)
    for text in texts:
        assert pattern.found_in(text) == bool(re.search(flags + expression, text)), (expression, text)


@given(st.text("ab.*+?{}2,0()[]|^$\\wdZ-:P<>=!#i ", max_size=20) | st.text(max_size=20), st.text(max_size=6))
@settings(max_examples=800)
def test_any_text_is_a_pattern_or_a_value_error(expression: str, text: str) -> None:
    try:
        pattern = parse_pattern(expression)
    except ValueError:
        return
    assert pattern.found_in(text) in (True, False)
