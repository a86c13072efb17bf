"""Writing traces beside the work: a thread of its own, and a limit on what waits for it."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable

from colleague.agent.tracing.notice import notice

log = logging.getLogger(__name__)

MOST_WAITING = 10_000
"""Lines that may wait; further ones are left out, and counted."""
CLOSE_SECONDS = 5.0

Job = Callable[[], None]


class TraceWriter:
    """Does what it is given, in order. Whatever goes wrong costs lines, never work, and is said once."""

    def __init__(self, *, most_waiting: int = MOST_WAITING) -> None:
        self._jobs: queue.Queue[Job | None] = queue.Queue(most_waiting)
        self._left_out = 0
        self._told: set[str] = set()
        self._thread: threading.Thread | None = threading.Thread(
            target=self._work, name="traces", daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError as error:  # no more threads
            self._thread = None
            self._say_once("thread", f"traces are not written: {error}")

    def put(self, job: Job) -> None:
        """Returns at once."""
        if self._thread is None:
            return
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            self._left_out += 1
            self._say_once("full", "traces cannot be written as fast as they come; some lines are left out")

    def flush(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Waits until everything put so far is written; False when that takes longer."""
        done = threading.Event()
        deadline = time.monotonic() + seconds
        while self._thread is not None and self._thread.is_alive():
            try:
                self._jobs.put_nowait(done.set)
                return done.wait(deadline - time.monotonic())
            except queue.Full:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.01)
        return True

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Writes what waits, within the time."""
        if self._thread is None:
            return
        if self.flush(seconds):
            self._jobs.put(None)
            self._thread.join(seconds)
        else:
            log.warning("traces: %d lines were not written in time", self._jobs.qsize())
        if self._left_out:
            log.warning("traces: %d lines were left out", self._left_out)
        self._thread = None

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except OSError as error:
                self._say_once(f"errno {error.errno}", f"a trace cannot be written: {error}")
            except Exception as error:  # noqa: BLE001 - also a document that is no JSON
                self._log_once(type(error).__name__)

    def _say_once(self, about: str, text: str) -> None:
        if about in self._told:
            return
        self._told.add(about)
        notice(text)

    def _log_once(self, about: str) -> None:
        if about not in self._told:
            self._told.add(about)
            log.exception("a line of a trace is left out")
