"""Which session a message of a channel belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from colleague.config import Settings
from colleague.sessions.routing import ChatPlace, session_for

ANN = ChatPlace("telegram", "7", account_id="work")


def key(place: ChatPlace, **session: Any) -> str:
    return str(session_for(Settings.model_validate({"session": session}).session, place))


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("main", "agent:main:main"),
        ("per-peer", "agent:main:dm:7"),
        ("per-channel-peer", "agent:main:telegram:dm:7"),
        ("per-account-channel-peer", "agent:main:telegram:work:dm:7"),
    ],
)
def test_direct_messages(scope: str, expected: str) -> None:
    assert key(ANN, dmScope=scope) == expected


def test_one_person_has_one_name_on_all_channels() -> None:
    links = {"ann": ["telegram:7", "slack:U1"]}
    for place in (ANN, ChatPlace("slack", "U1"), ChatPlace("Slack", "u1")):
        assert key(place, dmScope="per-peer", identityLinks=links) == "agent:main:dm:ann"
    assert key(ChatPlace("slack", "7"), dmScope="per-peer", identityLinks=links) == "agent:main:dm:7"


def test_groups_channels_and_threads_have_their_own() -> None:
    group = ChatPlace("slack", "U1", "group", "G1")
    assert key(group) == "agent:main:slack:group:G1"
    thread = ChatPlace("slack", "U1", "channel", "C1", "t9")
    assert key(thread) == "agent:main:slack:channel:C1:thread:t9"


def test_one_session_for_everything() -> None:
    for place in (ANN, ChatPlace("slack", "U1", "group", "G1")):
        assert key(place, scope="global") == "agent:main:main"
