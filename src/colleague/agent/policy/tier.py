"""Who is asked before a tool is used: `tools.approvals`, by name, pattern or group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from colleague.agent.gate import Verdict
from colleague.agent.policy.pattern import PolicyTool, means
from colleague.config.settings import Tier

STRICTNESS: Mapping[str, int] = {"auto": 0, "confirm": 1, "manual": 2}
ANY = "*"


class ApprovalRule(NamedTuple):
    """The pattern of `tools.approvals` that counts for a tool."""

    pattern: str
    tier: Tier

    @property
    def verdict(self) -> Verdict:
        said = f"tools.approvals: {self.pattern} is {self.tier}"
        if self.tier == "auto":
            return Verdict("allow", "auto")
        return Verdict("ask", "confirm") if self.tier == "confirm" else Verdict("draft", "manual", said)


def approval_rule(
    approvals: Mapping[str, Tier], tool: PolicyTool, *, reads: bool = False
) -> ApprovalRule | None:
    """The longest pattern that means the tool, of two as long the stricter. What only reads is not meant by a
    bare `*`."""
    found = [
        ApprovalRule(pattern, tier)
        for pattern, tier in approvals.items()
        if means(pattern, tool) and not (reads and pattern.strip() == ANY)
    ]
    return max(found, key=lambda rule: (len(rule.pattern), STRICTNESS[rule.tier]), default=None)
