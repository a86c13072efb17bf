"""A line at the bottom of a terminal that says what is waited for, and how long already."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

FRAMES = "|/-\\"
CLEAR = "\r\x1b[2K"
TURN_SECONDS = 0.15
FIRST_SECONDS = 0.3


class Spinner:
    """Draws nothing unless stderr is a terminal.

    It has a thread of its own: to import the model layer holds up the event loop for a second and more."""

    def __init__(self) -> None:
        self.label = ""
        self._since = 0.0
        self._drawn = False
        self._frame = 0
        self._writing = threading.RLock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._turn, name="spinner", daemon=True)

    @contextlib.contextmanager
    def turning(self) -> Iterator[None]:
        """Draws while the block lasts."""
        if sys.stderr.isatty():
            self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self.stop()

    @contextlib.contextmanager
    def shown(self, label: str) -> Iterator[None]:
        """Draws at once and while the block lasts: for what is known to take a while."""
        self.start(label)
        self._since -= FIRST_SECONDS
        with self.turning():
            if sys.stderr.isatty():
                with self._writing:
                    self._draw()
            yield

    def start(self, label: str) -> None:
        """`label` is ours: a word, or the name of a tool."""
        self.label, self._since = label, time.monotonic()

    def keep(self, label: str) -> None:
        """The same as `start`, but a label that is there already goes on counting."""
        if label != self.label:
            self.start(label)

    def stop(self) -> None:
        with self.away():
            self.label = ""

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Takes the line away while something else is written; it comes back by itself."""
        with self._writing:
            if self._drawn:
                sys.stderr.write(CLEAR)
                sys.stderr.flush()
                self._drawn = False
            yield

    def _turn(self) -> None:
        while not self._ended.wait(TURN_SECONDS):
            with self._writing:
                self._draw()

    def _draw(self) -> None:
        seconds = time.monotonic() - self._since
        if not self.label or seconds < FIRST_SECONDS:
            return
        self._frame = (self._frame + 1) % len(FRAMES)
        sys.stderr.write(f"{CLEAR}  {FRAMES[self._frame]} {self.label}, {seconds:.0f} s")
        sys.stderr.flush()
        self._drawn = True
