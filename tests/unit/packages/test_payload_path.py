from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.packages.payload_path import parse_payload_path

PAYLOAD: dict[str, Any] = {
    "contact_id": "c-1",
    "from": {"id": 7},
    "messages": [{"id": "m-1"}, {"id": "m-2", "label": None}],
    "x-request-id": "r-1",
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("contact_id", "c-1"),
        ("from.id", 7),
        ("messages[0].id", "m-1"),
        ("messages[-1].id", "m-2"),
        ("messages[*].id", ["m-1", "m-2"]),
        ('"x-request-id"', "r-1"),
        ("gone", None),
        ("gone.id", None),
        ("contact_id.id", None),
        ("messages[9].id", None),
        ("messages[1].label", None),
    ],
)
def test_find(path: str, value: object) -> None:
    assert parse_payload_path(path).find(PAYLOAD) == value


@pytest.mark.parametrize("payload", [None, [], "text", 3, {}])
def test_a_payload_of_another_kind_has_nothing_there(payload: object) -> None:
    assert parse_payload_path("messages[0].id").find(payload) is None


@pytest.mark.parametrize("path", ["abs(contact_id)", "no_such_function(from)", "messages[::0]"])
def test_a_path_that_cannot_be_followed_finds_nothing(path: str) -> None:
    assert parse_payload_path(path).find(PAYLOAD) is None


@pytest.mark.parametrize(
    "path",
    ["", " ", "a..b", "a.", ".a", "messages[", "messages[a]", "[", "a b", "$.a", "(" * 400, "a[0]" * 200],
)
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(
        ValueError, match="is no payload path; write one such as contact_id or messages"
    ) as error:
        parse_payload_path(path)
    assert len(str(error.value)) < 200


def test_a_very_long_path_is_refused() -> None:
    with pytest.raises(ValueError, match="is no payload path"):
        parse_payload_path("a" + ".a" * 5000)


@pytest.mark.filterwarnings("ignore:deprecated string literal syntax")
@given(st.text("abc.[]0*'\"`|&!@()-:,{} é", max_size=40))
@settings(max_examples=300)
def test_any_text_is_a_path_or_a_value_error(text: str) -> None:
    try:
        path = parse_payload_path(text)
    except ValueError:
        return
    path.find(PAYLOAD)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("headers.x-request-id", "r1"),
        ("x-list[0].a-b", 7),
        ("x-list[-1]", {"a-b": 7}),
        ("2fa", True),
        ("größe", 3),
    ],
)
def test_names_that_are_no_identifiers_need_no_quotes(path: str, found: object) -> None:
    payload = {"headers": {"x-request-id": "r1"}, "x-list": [{"a-b": 7}], "2fa": True, "größe": 3}
    assert parse_payload_path(path).find(payload) == found
