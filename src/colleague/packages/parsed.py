"""The base of every object read from YAML: it remembers the node it came from."""

from __future__ import annotations

from dataclasses import dataclass, field

from colleague.packages.mark import Mark
from colleague.packages.nodes import Node, mark_of


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """`at` is where the object begins; `mark("tools", 1)` where one of its values stands."""

    at: Mark = field(compare=False, repr=False)
    node: Node | None = field(default=None, compare=False, repr=False)

    def mark(self, *path: str | int) -> Mark:
        return self.at if self.node is None else mark_of(self.node, *path)
