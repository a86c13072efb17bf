from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.triggers.errors import BadPayload
from colleague.triggers.gmail.pubsub import GmailPush, is_push, read_push

CHANGE = {"emailAddress": "Me@us.com", "historyId": 9876543210}


def encoded(value: Any) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


def push(**message: Any) -> dict[str, Any]:
    usual = {
        "data": encoded(CHANGE),
        "messageId": "2070443601311540",
        "publishTime": "2026-02-26T19:13:55.749Z",
    }
    return {
        "message": {key: value for key, value in (usual | message).items() if value is not None},
        "subscription": "projects/p/subscriptions/s",
    }


def test_a_push_of_gmails() -> None:
    assert is_push(push())
    assert read_push(push()) == GmailPush(
        message_id="2070443601311540",
        subscription="projects/p/subscriptions/s",
        publish_time="2026-02-26T19:13:55.749Z",
        email_address="me@us.com",
        history_id=9876543210,
    )


@pytest.mark.parametrize("history", ["9876543210", 9876543210])
def test_the_history_id_is_a_number_or_its_text(history: Any) -> None:
    assert read_push(push(data=encoded(CHANGE | {"historyId": history}))).history_id == 9876543210


def test_url_safe_base64_without_padding() -> None:
    text = json.dumps(CHANGE | {"note": "???>>>~~~"}).encode()
    data = base64.urlsafe_b64encode(text).decode().rstrip("=")
    assert set(data) & set("-_")
    assert read_push(push(data=data)).email_address == "me@us.com"


def test_the_other_spelling_and_no_time() -> None:
    found = read_push(push(messageId=None, message_id="17", publishTime=None))
    assert (found.message_id, found.publish_time) == ("17", "")


@pytest.mark.parametrize(
    "payload",
    [None, [], "message", {}, {"message": "text"}, {"messages": []}, {"message": {}, "messages": []}],
)
def test_what_is_no_envelope(payload: Any) -> None:
    assert not is_push(payload)
    with pytest.raises(BadPayload, match="there is no message in it"):
        read_push(payload)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"data": None}, "message.data is no text"),
        ({"data": ""}, "message.data is no text"),
        ({"data": 7}, "message.data is no text"),
        ({"data": "A" * 20_000}, "message.data is no text of 1 to 16384"),
        ({"data": "!!!"}, "no JSON in base64"),
        ({"data": "é"}, "no JSON in base64"),
        ({"data": "A"}, "no JSON in base64"),
        ({"data": base64.b64encode(b"\xff\xfe\xff").decode()}, "no JSON in base64"),
        ({"data": base64.b64encode(b"[" * 12_000).decode()}, "no JSON in base64"),
        ({"data": encoded([CHANGE])}, "holds no object"),
        ({"data": encoded({"historyId": 1})}, "emailAddress"),
        ({"data": encoded(CHANGE | {"emailAddress": "nobody"})}, "emailAddress"),
        ({"data": encoded(CHANGE | {"historyId": True})}, "historyId"),
        ({"data": encoded(CHANGE | {"historyId": -1})}, "historyId"),
        ({"data": encoded(CHANGE | {"historyId": 1.5})}, "historyId"),
        ({"data": encoded(CHANGE | {"historyId": "١٢"})}, "historyId"),
        ({"data": encoded(CHANGE | {"historyId": 10**30})}, "historyId"),
        ({"messageId": None}, "it has no messageId"),
        ({"messageId": ""}, "it has no messageId"),
        ({"messageId": 7}, "messageId is no text"),
        ({"messageId": "a\x00"}, "messageId is no text"),
        ({"messageId": "a" * 501}, "messageId is no text"),
        ({"publishTime": ["now"]}, "publishTime is no text"),
    ],
)
def test_what_is_wrong_is_named(message: dict[str, Any], why: str) -> None:
    with pytest.raises(BadPayload, match=why) as error:
        read_push(push(**message))
    assert error.value.hint


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)


@given(st.one_of(st.binary(max_size=60), SCALARS.map(encoded)), SCALARS, SCALARS)
@settings(max_examples=400)
def test_anything_is_a_push_or_a_refusal(data: Any, message_id: Any, subscription: Any) -> None:
    text = data if isinstance(data, str) else data.decode("latin-1")
    payload = {"message": {"data": text, "messageId": message_id}, "subscription": subscription}
    with pytest.raises(BadPayload):
        read_push(payload)
