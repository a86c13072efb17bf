"""What a person is told after they have done something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Notice:
    """Lines for the person alone; `problem` when something did not work. `goes_to` is where to go on.
    `passing`: it goes after the next answer."""

    lines: Sequence[str] = ()
    problem: bool = False
    goes_to: str = ""
    passing: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines)
