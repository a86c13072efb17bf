from __future__ import annotations

from typing import Any

import pytest

from colleague.config.sessions import SendPolicy
from colleague.session_key import SessionKey
from colleague.sessions.send_policy import ENTRY, resolve_send_policy


def policy(*rules: dict[str, Any], default: str = "allow") -> SendPolicy:
    return SendPolicy.model_validate({"default": default, "rules": list(rules)})


def deny(**match: str) -> dict[str, Any]:
    return {"match": match, "action": "deny"}


def allow(**match: str) -> dict[str, Any]:
    return {"match": match, "action": "allow"}


SEED = policy(deny(chatType="group", channel="discord"), allow(keyPrefix="telegram:dm:"), default="deny")


@pytest.mark.parametrize(
    ("key", "action", "decided_by"),
    [
        ("discord:group:g", "deny", "session.sendPolicy.rules[0]"),
        ("agent:atlas:discord:group:g:channel:c", "deny", "session.sendPolicy.rules[0]"),
        ("telegram:dm:1", "allow", "session.sendPolicy.rules[1]"),
        ("agent:atlas:telegram:dm:1", "allow", "session.sendPolicy.rules[1]"),
        ("discord:dm:1", "deny", "session.sendPolicy.default"),
        ("main", "deny", "session.sendPolicy.default"),
    ],
)
def test_the_rules_of_the_seed(key: str, action: str, decided_by: str) -> None:
    decision = resolve_send_policy(SEED, SessionKey.parse(key))
    assert (decision.action, decision.decided_by) == (action, decided_by)


def test_nothing_set_allows() -> None:
    assert resolve_send_policy(SendPolicy(), SessionKey.for_main()).allowed


def test_the_session_itself_counts_first() -> None:
    everything = policy(deny())
    decision = resolve_send_policy(everything, SessionKey.for_main(), override="allow")
    assert (decision.allowed, decision.decided_by) == (True, ENTRY)
    assert not resolve_send_policy(SendPolicy(), SessionKey.for_main(), override="deny").allowed


@pytest.mark.parametrize(
    ("match", "key", "denied"),
    [
        ({"channel": "Discord"}, "discord:dm:1", True),
        ({"channel": "discord"}, "Discord:dm:1", True),
        ({"channel": "discord"}, "main", False),
        ({"chatType": "direct"}, "slack:dm:1", True),
        ({"chatType": "dm"}, "slack:direct:1", True),
        ({"chatType": "channel"}, "slack:channel:1:thread:2", True),
        ({"keyPrefix": "subagent:"}, "agent:atlas:subagent:1", True),
        ({"keyPrefix": "agent:atlas:subagent:"}, "agent:atlas:subagent:1", True),
        ({"keyPrefix": "agent:main:subagent:"}, "agent:atlas:subagent:1", False),
        ({"keyPrefix": "agent:main:telegram:"}, "telegram:dm:1", True),
        ({"rawKeyPrefix": "agent:atlas:"}, "agent:atlas:main", True),
        ({"rawKeyPrefix": "telegram:"}, "telegram:dm:1", False),
        ({"keyPrefix": "slack:", "chatType": "dm"}, "slack:channel:1", False),
        ({}, "main", True),
    ],
)
def test_what_a_rule_is_about(match: dict[str, str], key: str, denied: bool) -> None:
    assert resolve_send_policy(policy(deny(**match)), SessionKey.parse(key)).allowed is not denied


def test_a_rule_that_denies_counts_more_than_one_that_allows() -> None:
    rules = policy(allow(channel="slack"), deny(chatType="dm"))
    decision = resolve_send_policy(rules, SessionKey.parse("slack:dm:1"))
    assert (decision.action, decision.decided_by) == ("deny", "session.sendPolicy.rules[1]")


def test_where_a_message_of_the_main_session_comes_from_can_be_said() -> None:
    rules = policy(deny(channel="whatsapp", chatType="dm"))
    key = SessionKey.for_main()
    assert resolve_send_policy(rules, key).allowed
    assert not resolve_send_policy(rules, key, channel="whatsapp", chat_type="dm").allowed
