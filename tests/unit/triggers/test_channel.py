from __future__ import annotations

import time
from typing import Any

import pytest

from colleague.experts.bindings import TriggerBinding
from colleague.experts.safe_regex import parse_pattern
from colleague.packages.mark import Mark
from colleague.triggers.channel import ChannelMessage, matches, read_message
from colleague.triggers.errors import BadPayload

MESSAGE = ChannelMessage("U1", "URGENT: deal at risk", "Sales-EU")


def binding(**fields: Any) -> TriggerBinding:
    if "pattern" in fields:
        fields["pattern"] = parse_pattern(fields["pattern"])
    return TriggerBinding(at=Mark("bindings.yaml"), **fields)


def test_a_message_becomes_a_payload() -> None:
    raw = {
        "sender_id": 4711,
        "message_text": " hello ",
        "channel_name": "telegram",
        "message_id": 12,
        "thread_id": None,
        "sender_name": "Sarah",
        "raw": {"anything": True},
    }
    assert read_message(raw).payload() == {
        "sender_id": "4711",
        "message_text": " hello ",
        "channel_name": "telegram",
        "message_id": "12",
        "sender_name": "Sarah",
    }


def test_a_message_without_words_is_a_message() -> None:
    assert read_message({"sender_id": "U1", "channel_name": "web"}).payload() == {
        "sender_id": "U1",
        "message_text": "",
        "channel_name": "web",
    }


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({}, "has no sender_id"),
        ({"sender_id": " "}, "has no sender_id"),
        ({"channel_name": None}, "has no channel_name"),
        ({"sender_id": True}, "sender_id of a channel message is no text"),
        ({"sender_id": 10**5000}, "sender_id of a channel message is no text"),
        ({"channel_name": ["a"]}, "channel_name of a channel message is no text"),
        ({"message_id": "a" * 501}, "message_id of a channel message is no text of up to 500"),
        ({"message_text": {"a": 1}}, "message_text of a channel message is no text"),
    ],
)
def test_what_is_wrong_is_named(raw: dict[str, Any], why: str) -> None:
    usual = {"sender_id": "U1", "channel_name": "web"} if raw else {}
    with pytest.raises(BadPayload, match=why) as error:
        read_message(usual | raw)
    assert error.value.hint


def test_a_strange_name_is_no_reason_to_lose_a_message() -> None:
    message = read_message({"sender_id": "U1", "channel_name": "web", "sender_name": "x" * 9000})
    assert len(message.sender_name) == 500
    assert read_message({"sender_id": "U1", "channel_name": "web", "sender_name": {}}).sender_name == ""


def test_without_a_filter_every_message_wakes() -> None:
    assert matches(None, MESSAGE)
    assert matches(binding(), MESSAGE)


@pytest.mark.parametrize(
    "fields",
    [
        {"channel": "sales-eu"},
        {"channel": "sales-*"},
        {"channel": "*"},
        {"channel": "sales-[de]u"},
        {"senders": ("U2", "u1")},
        {"pattern": "^URGENT"},
        {"channel": "sales-*", "senders": ("U1",), "pattern": "(?i)urgent"},
    ],
)
def test_what_wakes(fields: dict[str, Any]) -> None:
    assert matches(binding(**fields), MESSAGE)


@pytest.mark.parametrize(
    "fields",
    [
        {"channel": "sales"},
        {"channel": "sales-?"},
        {"senders": ()},
        {"senders": ("U", "U11")},
        {"pattern": "urgent"},
        {"channel": "sales-*", "senders": ("U1",), "pattern": "nothing"},
        {"channel": "other", "senders": ("U1",), "pattern": "URGENT"},
    ],
)
def test_what_does_not(fields: dict[str, Any]) -> None:
    assert not matches(binding(**fields), MESSAGE)


def test_a_channel_may_have_a_name_that_looks_like_a_pattern() -> None:
    assert matches(binding(channel="[ops]"), ChannelMessage("U1", "", "[ops]"))


def test_no_message_makes_it_hang() -> None:
    hostile = ChannelMessage("U1", "a" * 1_000_000, "a" * 500)
    began = time.process_time()
    assert not matches(binding(channel="*a" * 90 + "b"), hostile)
    assert not matches(binding(pattern="(a+)+$b"), hostile)
    assert time.process_time() - began < 20
