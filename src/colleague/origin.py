"""Who does something, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OriginSource = Literal["page", "link", "api", "command", "clock"]
"""`link`: one question behind a link. `command`: the command line, of this process or through a gateway.
`clock`: nobody did it, its time was up."""


@dataclass(frozen=True)
class Origin:
    """`address` is the caller's over HTTP; empty for this process."""

    who: str
    source: OriginSource
    address: str = ""


THE_CLOCK = Origin("", "clock")
