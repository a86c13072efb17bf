"""Which operations run at once, which ask a person first, and which are only ever drafted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, cast

from colleague.duration import Duration
from colleague.main_names import MAIN_CHANNEL
from colleague.packages.delivery import read_channel
from colleague.packages.fields import Fields
from colleague.packages.mark import Mark

Tier = Literal["auto", "confirm", "manual"]
TIERS: tuple[Tier, ...] = ("auto", "confirm", "manual")
OnTimeout = Literal["reject", "escalate"]


@dataclass(frozen=True)
class Override:
    """The tier of one operation, and where it is set."""

    operation: str
    tier: Tier
    at: Mark = field(compare=False, repr=False)


@dataclass(frozen=True)
class ApprovalPolicy:
    """The tiers, and what happens when nobody answers."""

    default: Tier = "confirm"
    overrides: dict[str, Override] = field(default_factory=dict)
    timeout: Duration | None = None
    on_timeout: OnTimeout = "reject"


@dataclass(frozen=True)
class Escalation:
    """Where a person is told, and of what."""

    channel: str = MAIN_CHANNEL
    on_low_confidence: bool = True
    on_manual_ready: bool = True


@dataclass(frozen=True)
class Policy:
    """The manifest's `policy` block."""

    approval: ApprovalPolicy = field(default_factory=ApprovalPolicy)
    escalation: Escalation = field(default_factory=Escalation)

    def tier(self, operation: str) -> Tier:
        """The override for `tool.operation`, else the default (which is `confirm` without a policy)."""
        override = self.approval.overrides.get(operation)
        return override.tier if override else self.approval.default


def looser(new: Tier, old: Tier) -> bool:
    return TIERS.index(new) < TIERS.index(old)


def stricter(one: Tier, other: Tier) -> Tier:
    return max(one, other, key=TIERS.index)


def read_policy(fields: Fields) -> Policy:
    policy = Policy(_read_approval(fields.child("approval")), _read_escalation(fields.child("escalation")))
    fields.finish()
    return policy


def _read_approval(fields: Fields) -> ApprovalPolicy:
    approval = ApprovalPolicy(
        default=cast(Tier, fields.choice("default", TIERS, "confirm")),
        overrides=_read_overrides(fields.child("overrides")),
        timeout=fields.duration("timeout"),
        on_timeout=cast(OnTimeout, fields.choice("on_timeout", ("reject", "escalate"), "reject")),
    )
    fields.finish()
    return approval


def _read_overrides(fields: Fields) -> dict[str, Override]:
    names = list(fields.node.entries) if fields.node else []
    return {
        name: Override(name, cast(Tier, fields.choice(name, TIERS, "confirm")), fields.mark(name))
        for name in names
    }


def _read_escalation(fields: Fields) -> Escalation:
    escalation = Escalation(
        channel=read_channel(fields, MAIN_CHANNEL),
        on_low_confidence=fields.flag("on_low_confidence", True),
        on_manual_ready=fields.flag("on_manual_ready", True),
    )
    fields.finish()
    return escalation
