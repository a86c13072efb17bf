"""Whether a session may send messages, and which rule says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from colleague.session_key import ChatType, SessionKey

if TYPE_CHECKING:
    from colleague.config.sessions import SendMatch, SendPolicy

Action = Literal["allow", "deny"]
ENTRY = "the session itself"
"""Decided by what was set with `session set --send-policy`, the API or `/send`."""


@dataclass(frozen=True)
class SendDecision:
    """`decided_by` is the session itself, or the key of the setting."""

    action: Action
    decided_by: str

    @property
    def allowed(self) -> bool:
        return self.action == "allow"


def resolve_send_policy(
    policy: SendPolicy,
    key: SessionKey,
    *,
    override: Action | None = None,
    channel: str | None = None,
    chat_type: ChatType | None = None,
) -> SendDecision:
    """The session's own override, then the rules, then the default.

    Of several rules that match, one that denies counts, as in OpenClaw. `channel` and `chat_type` say where
    a message of a session comes from whose key does not tell, such as the main session."""
    if override is not None:
        return SendDecision(override, ENTRY)
    chat = _Chat(key, (channel or key.channel or "").casefold(), chat_type or key.chat_type)
    found = [(number, rule) for number, rule in enumerate(policy.rules) if chat.matches(rule.match)]
    denying = [each for each in found if each[1].action == "deny"]
    for number, rule in denying or found:
        return SendDecision(rule.action, f"session.sendPolicy.rules[{number}]")
    return SendDecision(policy.default, "session.sendPolicy.default")


@dataclass(frozen=True)
class _Chat:
    key: SessionKey
    channel: str
    chat_type: ChatType | None

    def matches(self, match: SendMatch) -> bool:
        """Whether all that the rule names is so; one that names nothing is about every session."""
        chat_type = "dm" if match.chat_type == "direct" else match.chat_type
        return (
            (match.channel is None or match.channel.casefold() == self.channel)
            and (chat_type is None or chat_type == self.chat_type)
            and (match.key_prefix is None or self._begins(match.key_prefix))
            and (match.raw_key_prefix is None or str(self.key).startswith(match.raw_key_prefix))
        )

    def _begins(self, prefix: str) -> bool:
        return self.key.unscoped.startswith(prefix) or str(self.key).startswith(prefix)
