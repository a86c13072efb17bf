"""Who may write through a channel."""

from __future__ import annotations

from typing import Any

import pytest

from colleague.config.channel_access import is_channel_on, refusal


@pytest.mark.parametrize(
    ("own", "direct", "group"),
    [
        ({}, "", ""),
        ({"enabled": True}, "", ""),
        ({"enabled": False}, "channels.c.enabled is false", "channels.c.enabled is false"),
        ({"allowFrom": ["ann"]}, "", ""),
        ({"allowFrom": ["*"]}, "", ""),
        ({"allowFrom": []}, "channels.c.allowFrom does not have the sender 'ann'", ""),
        ({"allowFrom": "ann"}, "channels.c.allowFrom does not have the sender 'ann'", ""),
        ({"dmPolicy": "disabled"}, "channels.c.dmPolicy is disabled", ""),
        ({"dmPolicy": "alowlist"}, "channels.c.dmPolicy is alowlist", ""),
        ({"dmPolicy": "pairing"}, "channels.c.allowFrom does not have the sender 'ann'", ""),
        ({"dmPolicy": "allowlist", "allowFrom": ["ann"]}, "", ""),
        ({"dmPolicy": "open", "allowFrom": ["bob"]}, "", ""),
        ({"groupPolicy": "disabled"}, "", "channels.c.groupPolicy is disabled"),
        ({"groupPolicy": "allowlist"}, "", "is allowlist, and the group 'team' is not listed"),
        ({"groupPolicy": "allowlist", "groups": {"team": {}}}, "", ""),
        ({"groupPolicy": "allowlist", "channels": {"*": {}}}, "", ""),
        ({"groups": {"team": {"enabled": False}}}, "", "channels.c has the group 'team' as disabled"),
        ({"groupAllowFrom": ["bob"]}, "", "channels.c.groupAllowFrom does not have the sender 'ann'"),
        ({"groupAllowFrom": ["ann"]}, "", ""),
    ],
)
def test_a_message_is_let_in_or_the_key_is_named(own: dict[str, Any], direct: str, group: str) -> None:
    assert refusal({"c": own}, "c", "ann") == direct
    assert refusal({"c": own}, "c", "ann", "team").endswith(group)
    assert bool(refusal({"c": own}, "c", "ann", "team")) is bool(group)


def test_a_channel_that_the_settings_do_not_name_is_on() -> None:
    assert is_channel_on({}, "c")
    assert refusal({"other": {"enabled": False}}, "c", "ann") == ""
