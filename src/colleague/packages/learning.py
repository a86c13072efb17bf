"""Whether an expert may propose learnings, and who approves them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from colleague.packages.fields import Fields
from colleague.packages.policy import TIERS, Tier


@dataclass(frozen=True)
class Learning:
    """The manifest's `learning` block."""

    enabled: bool = False
    approval: Tier = "confirm"
    max_entries_per_file: int = 50


def read_learning(fields: Fields) -> Learning:
    learning = Learning(
        enabled=fields.flag("enabled", False),
        approval=cast(Tier, fields.choice("approval", TIERS, "confirm")),
        max_entries_per_file=fields.whole_number("max_entries_per_file", 50, least=1, most=100_000),
    )
    fields.finish()
    return learning
