"""Whether a call may be made: allow, ask, draft or refuse; in a dry run it is only described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from colleague.agent.tool import ToolSpec

VerdictKind = Literal["allow", "ask", "draft", "refuse", "describe"]


@dataclass(frozen=True)
class Verdict:
    """What the policy says about one call, now."""

    kind: VerdictKind
    tier: str
    reason: str = ""
    expires_ms: int | None = None
    on_timeout: str = "reject"
    question: Literal["confirm", "low_confidence"] = "confirm"


class Gate(Protocol):
    """A policy. It is asked when a call is proposed, and again at the moment it would be made."""

    def judge(self, spec: ToolSpec, arguments: dict[str, Any]) -> Verdict: ...


class CautiousGate:
    """For an agent without a policy of its own: our file tools and reading are free, the rest asks."""

    def judge(self, spec: ToolSpec, arguments: dict[str, Any]) -> Verdict:
        if spec.own_verdict is not None:
            return spec.own_verdict(arguments)
        if not spec.server or spec.read_only:
            return Verdict("allow", "auto")
        return Verdict("ask", "confirm")
