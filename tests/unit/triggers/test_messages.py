from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.triggers.errors import BadPayload
from colleague.triggers.gmail.messages import ENRICHED, gmail_payloads

SARAH = {
    "id": "18c1",
    "threadId": "t-9",
    "from": '"Sarah Chen" <Sarah@Acme.com>',
    "subject": "Pricing",
    "snippet": "Hi",
    "body": "Hi there",
}


def test_one_payload_for_each_message() -> None:
    bob = {"id": "18c2", "from": "bob@megacorp.com", "thread_id": "t-10"}
    one, two = gmail_payloads({"source": "gmail", "account": "me@us.com", "messages": [SARAH, bob]})
    assert one == {
        "source": "gmail",
        "account": "me@us.com",
        "messages": [SARAH],
        "message_id": "18c1",
        "sender_id": "sarah@acme.com",
        "contact_id": "sarah@acme.com",
        "thread_id": "t-9",
    }
    assert two["messages"] == [bob]
    assert (two["message_id"], two["contact_id"], two["thread_id"]) == ("18c2", "bob@megacorp.com", "t-10")


def test_the_payload_that_came_stays_as_it_was() -> None:
    payload = {"messages": [dict(SARAH)]}
    gmail_payloads(payload)
    assert payload == {"messages": [SARAH]}


def test_no_messages_are_no_payloads() -> None:
    assert gmail_payloads({"messages": []}) == []


def test_what_cannot_be_known_is_null_and_never_the_senders_word() -> None:
    [found] = gmail_payloads({"messages": [{"id": 7}], "contact_id": "boss@acme.com", "thread_id": "t"})
    assert {name: found[name] for name in ENRICHED} == {
        "message_id": "7",
        "sender_id": None,
        "contact_id": None,
        "thread_id": None,
    }


@pytest.mark.parametrize("payload", [None, [], "text", {}, {"messages": None}, {"messages": {"id": "1"}}])
def test_another_shape_is_refused(payload: Any) -> None:
    with pytest.raises(BadPayload, match="an object with a list of messages") as error:
        gmail_payloads(payload)
    assert "Pub/Sub" in error.value.hint


@pytest.mark.parametrize(
    "message", [None, "m-1", [], {}, {"id": None}, {"id": " "}, {"id": []}, {"id": True}]
)
def test_a_message_without_an_id_is_named(message: Any) -> None:
    with pytest.raises(BadPayload, match=r"messages\[1\] is no message with an id"):
        gmail_payloads({"messages": [SARAH, message]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "from", "threadId", "messages", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=300)
def test_any_json_is_payloads_or_a_refusal(payload: Any) -> None:
    try:
        found = gmail_payloads(payload)
    except BadPayload:
        return
    assert len(found) == len(payload["messages"])
    assert all(len(each["messages"]) == 1 and each["message_id"] for each in found)
