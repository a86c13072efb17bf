"""A line at the bottom of a terminal that says what is waited for, and how long already."""

from __future__ import annotations

import asyncio
import sys
import time

FRAMES = "|/-\\"
CLEAR = "\r\x1b[2K"
TURN_SECONDS = 0.15
FIRST_SECONDS = 0.3


class Spinner:
    """Draws nothing unless stderr is a terminal."""

    def __init__(self) -> None:
        self._label = ""
        self._since = 0.0
        self._drawn = False
        self._frame = 0
        self._shown = sys.stderr.isatty()

    def start(self, label: str) -> None:
        """`label` is ours: a word, or the name of a tool."""
        self._label, self._since = label, time.monotonic()

    def stop(self) -> None:
        self._label = ""
        self.clear()

    def clear(self) -> None:
        """Takes the line away, for something else to be written; it comes back by itself."""
        if self._drawn:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
            self._drawn = False

    async def turn(self) -> None:
        """Draws until it is cancelled."""
        while self._shown:
            await asyncio.sleep(TURN_SECONDS)
            self._draw()

    def _draw(self) -> None:
        seconds = time.monotonic() - self._since
        if not self._label or seconds < FIRST_SECONDS:
            return
        self._frame = (self._frame + 1) % len(FRAMES)
        sys.stderr.write(f"{CLEAR}  {FRAMES[self._frame]} {self._label}, {seconds:.0f} s")
        sys.stderr.flush()
        self._drawn = True
