"""An expert's policy as a gate: which calls run, ask, are left as a draft, or are only described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colleague.agent.gate import Verdict
from colleague.agent.policy.home_rules import HomeToolRules
from colleague.agent.tool import ToolSpec
from colleague.experts.rehearsal.planned_call import SIMULATED
from colleague.experts.runs.run_package import Policies
from colleague.experts.runs.tools.names import COMPLETE, ESCALATE, FUNCTION_RESULT, PROPOSE_LEARNING
from colleague.packages.policy import stricter

LOW = "low"


@dataclass(frozen=True)
class PolicyGate:
    """Asked when a call is proposed, and again at the moment it would be made."""

    policies: Policies
    dry_run: bool = False
    strict: bool = False
    """Whether a dry run also only describes what needs nobody, unless it only reads."""
    asks_before_leaving: bool = False
    """Whether a person is asked before any text goes to a server."""
    asks_before_delivery: bool = False
    """Whether a person is asked before the result goes to a channel."""
    home_rules: HomeToolRules | None = None
    """What the settings of the home deny to everybody, or hold more strictly."""

    def judge(self, spec: ToolSpec, arguments: dict[str, Any]) -> Verdict:
        if not spec.server:
            return self._native(spec, arguments)
        tier = self.policies.tier(spec.name)
        if self.home_rules is not None and spec.server != SIMULATED:
            if reason := self.home_rules.denial(spec):
                return Verdict("refuse", "none", f"{spec.name} may not be used: {reason}")
            tier = stricter(tier, self.home_rules.tier(spec))
        if self.asks_before_leaving:
            tier = stricter(tier, "confirm")
        if tier == "auto":
            withheld = self.strict and not spec.read_only and spec.server != SIMULATED
            if not withheld:
                return Verdict("allow", tier)
        if self.dry_run:
            return Verdict("describe", tier, _described(spec.name, tier))
        return self._ask(tier) if tier == "confirm" else Verdict("draft", tier)

    def _ask(self, tier: str) -> Verdict:
        approval = self.policies.pinned.approval
        expires = approval.timeout.milliseconds if approval.timeout else None
        return Verdict("ask", tier, expires_ms=expires, on_timeout=approval.on_timeout)

    def _native(self, spec: ToolSpec, arguments: dict[str, Any]) -> Verdict:
        doubtful = spec.name == ESCALATE or _confidence(spec, arguments) == LOW
        if doubtful and self.policies.pinned.escalation.on_low_confidence:
            if self.dry_run and spec.name == ESCALATE:
                return Verdict("describe", "confirm", "Dry run: a person would be asked here. Go on.")
            if not self.dry_run:
                return _about_doubt(self._ask("confirm"))
        if spec.name == COMPLETE and self.asks_before_delivery and not self.dry_run:
            return self._ask("confirm")
        if self.dry_run and spec.name == PROPOSE_LEARNING:
            return Verdict("describe", "confirm", "Dry run: this learning would be proposed.")
        return Verdict("allow", "auto")


def _about_doubt(asked: Verdict) -> Verdict:
    return Verdict(
        "ask", "confirm", expires_ms=asked.expires_ms, on_timeout=asked.on_timeout, question="low_confidence"
    )


def _confidence(spec: ToolSpec, arguments: dict[str, Any]) -> Any:
    if spec.name not in (COMPLETE, FUNCTION_RESULT):
        return None
    outputs = arguments.get("outputs")
    return outputs.get("confidence") if isinstance(outputs, dict) else None


def _described(operation: str, tier: str) -> str:
    what = {
        "auto": "nobody says that it only reads, and this run sends nothing else",
        "confirm": "a person would be asked first",
    }.get(tier, "it would be left as a draft for a person")
    return f"Dry run: {operation} was not called; {what}. Go on as if it had been done."
