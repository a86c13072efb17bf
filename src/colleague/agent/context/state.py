"""What is known of a conversation's context while it is at work. The store has all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from colleague.agent.context.unit import MessageUnit
from colleague.store.compactions import Compaction


@dataclass(frozen=True)
class EarlierMessages:
    """What was said in a transcript before a run, as far as it is shown."""

    units: Sequence[MessageUnit] = ()
    compaction: Compaction | None = None
    """Stands for what is not among the units, and for those of them that come before its place."""


@dataclass
class ContextState:
    """`scope` names the transcript in which compactions are kept."""

    scope: str = ""
    earlier: Sequence[MessageUnit] = ()
    compaction: Compaction | None = None
    gave_up: bool = False
    """No summary could be made in this run: it is not tried again and again."""
    learned_window: int | None = None
    """Smaller than the known one: the provider refused what should have fitted."""
    fixed_tokens: int | None = None
    """Of the system prompt and the tools, which stay the same."""
    own_units: dict[int, tuple[Any, MessageUnit]] = field(default_factory=dict)
    """Units of this run by position, each with what it was made from."""
    report: str | None = None
    """JSON: what the model was last shown."""
