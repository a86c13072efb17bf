"""Joins small blocks, so that people get few messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Coalescing:
    """Blocks are joined up to `min_chars`, never past `max_chars`, and for no longer than `idle_ms` after the
    last one. Without `min_chars` every block goes by itself."""

    min_chars: int | None = None
    max_chars: int | None = None
    idle_ms: int = 1000
    joint: str = "\n\n"


class BlockCoalescer:
    """Takes blocks with the time at which they come, in milliseconds."""

    def __init__(self, coalescing: Coalescing) -> None:
        self._coalescing = coalescing
        self._waiting: list[str] = []
        self._since = 0.0

    def add(self, block: str, now_ms: float) -> list[str]:
        """The messages that are full now."""
        least, most = self._coalescing.min_chars, self._coalescing.max_chars
        if least is None:
            return [block]
        full = most is not None and self._waiting and self._length([*self._waiting, block]) > most
        found = self.finish() if full else []
        self._waiting.append(block)
        self._since = now_ms
        return [*found, *self.finish()] if self._length(self._waiting) >= least else found

    def idle(self, now_ms: float) -> list[str]:
        """What has waited long enough."""
        waited = self._waiting and now_ms - self._since >= self._coalescing.idle_ms
        return self.finish() if waited else []

    def finish(self) -> list[str]:
        waiting, self._waiting = self._waiting, []
        return [self._coalescing.joint.join(waiting)] if waiting else []

    def _length(self, blocks: list[str]) -> int:
        return sum(map(len, blocks)) + len(self._coalescing.joint) * (len(blocks) - 1)
