"""What a command has written so far, bounded: its beginning, its end, and how much there was."""

from __future__ import annotations

from collections.abc import Callable

from colleague.agent.commands.terminal_text import terminal_text

HEAD_BYTES = 32 * 1024
TAIL_BYTES = 256 * 1024


class CommandOutput:
    """Takes any amount of bytes and keeps the first and the last of them."""

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._most_head, self._most_tail = head, tail
        self._head, self._tail = bytearray(), bytearray()
        self.size = 0
        self.redact: Callable[[str], str] = str
        """Takes secrets out of what is shown."""

    def add(self, data: bytes) -> None:
        self.size += len(data)
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._most_tail:
            del self._tail[: -self._most_tail]

    def text(self, most: int) -> str:
        """All of it, when that is not more than `most` bytes; else the beginning and the end."""
        return self.since(0, most)

    def since(self, position: int, most: int) -> str:
        """What was written after the first `position` bytes, with the middle left out when it is too much."""
        first, last = self._kept_after(position)
        missing = max(0, self.size - position) - len(first) - len(last)
        if missing == 0:
            first, last = first + last, b""
        if len(first) + len(last) > most:
            joined = first + last
            cut = most // 4
            missing += len(joined) - most
            first, last = joined[:cut], joined[len(joined) - (most - cut) :]
        if missing == 0:
            return self.redact(terminal_text(first))
        begin, end = self.redact(terminal_text(first)), self.redact(terminal_text(last))
        return f"{begin}\n[... {missing:,} bytes left out ...]\n{end}"

    def _kept_after(self, position: int) -> tuple[bytes, bytes]:
        first = bytes(self._head[position:])
        begins = self.size - len(self._tail)
        return first, bytes(self._tail[max(0, position - begins) :])
