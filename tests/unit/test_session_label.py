from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.session_key import is_key
from colleague.session_label import MAX_LABEL, BadSessionLabel, expert_label, labelled_expert, parse_label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("travel", "travel"),
        ("  travel plans ", "travel plans"),
        ("Straße 12: Umzug", "Straße 12: Umzug"),
        ("x" * 64, "x" * 64),
        ("a:b", "a:b"),
    ],
)
def test_a_label_is_trimmed(text: str, label: str) -> None:
    assert parse_label(text) == label


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (" \t ", "is empty"),
        ("x" * 65, "has 65 characters; 64 at most"),
        ("a\nb", "control characters"),
        ("a\x1b[31m", "control characters"),
        ("main", "looks like a session key"),
        ("expert:sales", "looks like a session key"),
        ("agent:whatever", "looks like a session key"),
        ("Agent: plans", "looks like a session key"),
        ("telegram:dm:5", "looks like a session key"),
    ],
)
def test_what_cannot_be_a_label_is_said(text: str, said: str) -> None:
    with pytest.raises(BadSessionLabel) as caught:
        parse_label(text)
    assert said in caught.value.message
    assert caught.value.message.isprintable()


@given(st.text(max_size=100))
def test_a_label_is_never_a_key(text: str) -> None:
    try:
        label = parse_label(text)
    except BadSessionLabel:
        return
    assert parse_label(label) == label
    assert 0 < len(label) <= MAX_LABEL
    assert not is_key(label)


def test_experts_have_a_label_of_their_own() -> None:
    assert expert_label("sales") == "expert:sales"
    assert labelled_expert(" expert:sales ") == "sales"
    assert labelled_expert("expert:sales:report:1") is None
    assert labelled_expert("expert:") is None
    assert labelled_expert("sales") is None
