from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.experts.key_text import key_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("sarah@acme.com", "sarah@acme.com"),
        ("größe", "größe"),
        ("a/b", "a%2Fb"),
        ("a%2Fb", "a%252Fb"),
        ("a\x00b\n", "a%00b%0A"),
        ("\ud800", "%ED%A0%80"),
        (7, "7"),
        (7.0, "7"),
        (-0.0, "0"),
        (7.5, "7.5"),
        (10**40, "1" + "0" * 40),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (" ", " "),
    ],
)
def test_one_text_for_each_value(value: Any, text: str) -> None:
    assert key_text(value) == text


@pytest.mark.parametrize("value", [None, "", {}, [], {"a": 1}, ["a"], float("nan"), float("inf"), b"a"])
def test_what_identifies_nothing(value: Any) -> None:
    assert key_text(value) is None


def test_a_long_value_is_cut_and_ends_in_its_hash() -> None:
    text = key_text("/" + "x" * 5000)
    assert text is not None
    assert text.startswith("%2F" + "x" * 39 + "%sha256-")
    assert len(text) < 200
    assert key_text("/" + "x" * 4999) != text


def test_a_number_longer_than_python_writes_out() -> None:
    one, other = key_text(10**5000), key_text(10**5000 + 1)
    assert one
    assert other
    assert one != other
    assert key_text(10**200) == key_text(str(10**200))


VALUES = st.one_of(
    st.text(max_size=8), st.text("%/sha256-\x00", max_size=300), st.text(st.characters(), max_size=3)
)


@given(VALUES, VALUES)
@settings(max_examples=400)
def test_no_two_texts_share_one(one: str, other: str) -> None:
    assert (key_text(one) == key_text(other)) == (one == other)


@given(st.one_of(VALUES, st.integers(), st.floats(), st.booleans()))
@settings(max_examples=400)
def test_every_database_takes_it(value: Any) -> None:
    text = key_text(value)
    if text is None:
        return
    text.encode()
    assert "\x00" not in text
    assert "/" not in text
    assert len(text) <= 500
