"""Whether a channel is used, and who may write to agents through it: `channels.<channel>`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from colleague.config.channel_groups import ANY, PLACES

READ = frozenset({*PLACES, "enabled", "allowFrom", "dmPolicy", "groupPolicy", "groupAllowFrom"})
"""The keys that count for every channel, also where no plugin has it."""
_LISTED = ("allowlist", "pairing")

Channels = Mapping[str, Mapping[str, Any]]


class ChatRules(NamedTuple):
    """How a channel is answered on. `replies`: each answer is a reply to the message that is answered.
    `history`: how many earlier messages of a thread are told to an agent that comes into it."""

    replies: bool = False
    most_chars: int = 4_000
    history: int = 100


LEAST_CHARS = 200


def chat_rules(channels: Channels, channel: str) -> ChatRules:
    """`replyToMode` (off, all), `textChunkLimit` and `thread.initialHistoryLimit`; what cannot be read counts
    as not set."""
    own, usual = channels.get(channel, {}), ChatRules()
    thread = own.get("thread")
    limit = thread.get("initialHistoryLimit") if isinstance(thread, Mapping) else None
    return ChatRules(
        own.get("replyToMode") == "all",
        max(LEAST_CHARS, _number(own.get("textChunkLimit"), usual.most_chars)),
        min(usual.history, _number(limit, usual.history)),
    )


def _number(value: Any, usual: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else usual


def is_channel_on(channels: Channels, channel: str) -> bool:
    return channels.get(channel, {}).get("enabled") is not False


def refusal(channels: Channels, channel: str, sender: str, group: str = "") -> str:
    """Why a message is not taken; empty when it is. `group` is where it was written, if not to us alone."""
    own, key = channels.get(channel, {}), f"channels.{channel}"
    if not is_channel_on(channels, channel):
        return f"{key}.enabled is false"
    return _group_refusal(own, key, sender, group) if group else _direct_refusal(own, key, sender)


def allowed_senders(channels: Channels, channel: str) -> list[str]:
    """The people that a channel lets in by name."""
    listed = channels.get(channel, {}).get("allowFrom")
    given = listed if isinstance(listed, Sequence) and not isinstance(listed, str) else ()
    return [str(each) for each in given if str(each) != ANY]


def _direct_refusal(own: Mapping[str, Any], key: str, sender: str) -> str:
    policy, listed = own.get("dmPolicy"), own.get("allowFrom")
    if policy not in (None, "open", *_LISTED):
        return f"{key}.dmPolicy is {policy}"
    if policy == "open" or (listed is None and policy not in _LISTED):
        return ""
    return "" if _names(listed, sender) else f"{key}.allowFrom does not have the sender {sender!r}"


def _group_refusal(own: Mapping[str, Any], key: str, sender: str, group: str) -> str:
    policy, listed = own.get("groupPolicy"), own.get("groupAllowFrom")
    if policy not in (None, "open", "allowlist"):
        return f"{key}.groupPolicy is {policy}"
    entry = _entry(own, group)
    if entry is not None and entry.get("enabled") is False:
        return f"{key} has the group {group!r} as disabled"
    if policy == "allowlist" and entry is None:
        return f"{key}.groupPolicy is allowlist, and the group {group!r} is not listed"
    if listed is not None and not _names(listed, sender):
        return f"{key}.groupAllowFrom does not have the sender {sender!r}"
    return ""


def _entry(own: Mapping[str, Any], group: str) -> Mapping[str, Any] | None:
    for place in PLACES:
        groups = own.get(place)
        found = groups.get(group, groups.get(ANY)) if isinstance(groups, Mapping) else None
        if isinstance(found, Mapping):
            return found
    return None


def _names(listed: Any, sender: str) -> bool:
    """Ids may be written as numbers."""
    given = listed if isinstance(listed, Sequence) and not isinstance(listed, str) else ()
    return bool({ANY, sender} & {str(each) for each in given})
