"""What colleague serve and worker print: activity and warnings, a line each, never so much that it floods."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import threading
import time
from collections.abc import Iterator

from colleague import activity
from colleague.logs import JsonFormatter, LogLimiter
from colleague.plain_text import plain
from colleague.redaction import redact

MOST_OF_A_KIND = 100
WINDOW_SECONDS = 10.0
MOST_WAITING = 2000
LONGEST = 400
LAST_LINES_SECONDS = 1.0


class LineFormatter(logging.Formatter):
    """For people: the time, and what happened."""

    def format(self, record: logging.LogRecord) -> str:
        told = getattr(record, "activity", None)
        text = told["text"] if told else record.getMessage()
        mark = "! " if record.levelno >= logging.WARNING else ""
        line = plain(redact(text))
        line = line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
        return f"{time.strftime('%H:%M:%S', time.localtime(record.created))} {mark}{line}"


class JsonLineFormatter(JsonFormatter):
    """For programs: as the log of the home, with the fields of an activity."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        told = getattr(record, "activity", None)
        if told is None:
            return line
        entry = {"at": json.loads(line)["at"], "level": record.levelname.lower(), **told}
        return redact(json.dumps(entry, ensure_ascii=False, default=str))


class TerminalLog(logging.Handler):
    """Writes lines to a descriptor from a thread of its own: a terminal that is paused, or a pipe that nobody
    reads, costs lines and never holds up the work. Nothing is written before `begin`."""

    def __init__(self, descriptor: int, *, as_json: bool = False, limiter: LogLimiter | None = None) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(JsonLineFormatter() if as_json else LineFormatter())
        self._descriptor = descriptor
        self._limiter = limiter or LogLimiter(few=MOST_OF_A_KIND, seconds=WINDOW_SECONDS)
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        self._left_out = 0
        self._thread = threading.Thread(target=self._write_forever, name="terminal-log", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(Exception):  # a record that cannot be put into words
            self.write_summaries()
            if self._limiter.passes(record):
                self._put(self.format(record))

    def write_summaries(self, *, all_windows: bool = False) -> None:
        """Says of repeated lines how many were left out, once their time is over."""
        with self.lock or contextlib.nullcontext():
            for summary in self._limiter.summaries(all_windows=all_windows):
                self._put(self.format(summary))

    def _put(self, line: str) -> None:
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._left_out += 1

    def _write_forever(self) -> None:
        with contextlib.suppress(OSError):  # whoever read it has gone
            while (line := self._lines.get()) is not None:
                left_out, self._left_out = self._left_out, 0
                more = f"({left_out} lines were left out: nobody read them)\n" if left_out else ""
                _write(self._descriptor, f"{line}\n{more}")

    def close(self) -> None:
        """Lets the last lines out, when somebody reads them."""
        self.write_summaries(all_windows=True)
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)
        if self._thread.is_alive():
            self._thread.join(LAST_LINES_SECONDS)
        super().close()


def _write(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(descriptor, data) :]


@contextlib.contextmanager
def printing_activity(descriptor: int, *, as_json: bool) -> Iterator[TerminalLog]:
    """While the block lasts, activity and our own warnings go to the descriptor."""
    handler = TerminalLog(descriptor, as_json=as_json)
    warnings = _Warnings(handler)
    ours = logging.getLogger("colleague")
    activity.log.addHandler(handler)
    activity.log.setLevel(logging.INFO)
    ours.addHandler(warnings)
    try:
        yield handler
    finally:
        activity.log.setLevel(activity.OFF)
        activity.log.removeHandler(handler)
        ours.removeHandler(warnings)
        handler.close()


class _Warnings(logging.Handler):
    def __init__(self, lines: TerminalLog) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        if not getattr(record, "printed", False):
            self._lines.handle(record)

    def write_summaries(self) -> None:
        self._lines.write_summaries()
