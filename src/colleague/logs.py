"""Structured logs: one JSON object a line in the home's logs folder, without secrets and without floods."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import logging.handlers
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from colleague.files import private_folder, private_opener
from colleague.redaction import redact

FILE = "colleague.jsonl"
MOST_BYTES = 5_000_000
KEPT = 3
FIRST_FEW = 10
"""So many equal lines are written within one window; the rest of them is counted."""
WINDOW_SECONDS = 30.0
MOST_KINDS = 1000


class JsonFormatter(logging.Formatter):
    """Time, level, where it comes from, what happened, and the traceback of an error."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "from": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return redact(json.dumps(entry, ensure_ascii=False))


@dataclass
class _Window:
    """Lines of one kind since `began`."""

    began: float
    last: logging.LogRecord
    written: int = 0
    left_out: int = 0


class LogLimiter:
    """Decides which records are written. Warnings and errors are of one kind when logger, level, message
    template and type of error are the same; of other records only the same text repeats."""

    def __init__(
        self,
        *,
        few: int = FIRST_FEW,
        seconds: float = WINDOW_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._few, self._seconds, self._monotonic = few, seconds, monotonic
        self._windows: dict[tuple[object, ...], _Window] = {}

    def passes(self, record: logging.LogRecord) -> bool:
        """False for a record that is only counted."""
        kind = _kind(record)
        window = self._windows.get(kind)
        if window is None:
            if len(self._windows) >= MOST_KINDS:
                return True
            window = self._windows[kind] = _Window(self._monotonic(), record)
        window.last = record
        if window.written < self._few:
            window.written += 1
            return True
        window.left_out += 1
        return False

    def summaries(self, *, all_windows: bool = False) -> list[logging.LogRecord]:
        """Ends the windows that are over; one record for each in which lines were left out."""
        now = self._monotonic()
        over = [
            kind for kind, each in self._windows.items() if all_windows or now - each.began >= self._seconds
        ]
        ended = [self._windows.pop(kind) for kind in over]
        return [_summary(each, now) for each in ended if each.left_out]


def _kind(record: logging.LogRecord) -> tuple[object, ...]:
    if record.levelno < logging.WARNING:
        return record.name, record.levelno, record.getMessage()
    error = record.exc_info[0] if record.exc_info else None
    # asyncio puts details into the template itself, after its first line.
    return record.name, record.levelno, str(record.msg).partition("\n")[0][:200], error


def _summary(window: _Window, now: float) -> logging.LogRecord:
    last = window.last
    about = last.getMessage().partition("\n")[0]
    text = f"{window.left_out} more of these in the last {max(1, round(now - window.began))} s: {about}"
    return logging.LogRecord(last.name, last.levelno, last.pathname, last.lineno, text, (), None)


class LogFile(logging.handlers.RotatingFileHandler):
    """The log of a home, readable by its owner only. Whatever goes wrong with it costs lines, never work."""

    def __init__(self, path: Path, limiter: LogLimiter | None = None) -> None:
        super().__init__(path, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8", delay=True)
        self.setFormatter(JsonFormatter())
        self._limiter = limiter or LogLimiter()
        self._told = False
        try:
            self.stream = self._open()  # now: when descriptors are short it is needed most
        except OSError:
            self._say_once()

    def _open(self) -> io.TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, opener=private_opener)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.write_summaries()
            if self._limiter.passes(record):
                super().emit(record)
        except Exception:  # noqa: BLE001 - also a record that cannot be put into words
            self.handleError(record)

    def write_summaries(self, *, all_windows: bool = False) -> None:
        """Says of repeated lines how many were left out, once their time is over."""
        with self.lock or contextlib.nullcontext():
            for summary in self._limiter.summaries(all_windows=all_windows):
                super().emit(summary)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002 - of the standard library
        """A full disk, a folder that is gone: said once on stderr, when that is there."""
        self._say_once()
        with contextlib.suppress(Exception):
            if self.stream is not None:  # its buffer would fail again with the next line
                stream, self.stream = self.stream, None
                stream.close()

    def _say_once(self) -> None:
        if self._told:
            return
        self._told = True
        with contextlib.suppress(Exception):
            sys.stderr.write(f"colleague: the log cannot be written: {sys.exc_info()[1]}\n")
            sys.stderr.flush()

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.write_summaries(all_windows=True)
        with contextlib.suppress(Exception):
            super().close()


@contextlib.contextmanager
def logging_to(folder: Path) -> Iterator[None]:
    """Our own loggers write to the folder for as long as the block lasts, and warnings of libraries do."""
    with contextlib.suppress(OSError):
        private_folder(folder)
    handler = LogFile(folder / FILE)
    ours, root = logging.getLogger("colleague"), logging.getLogger()
    others = _LibraryLogHandler(handler)
    ours.setLevel(logging.INFO)
    ours.propagate = False
    ours.addHandler(handler)
    root.addHandler(others)
    try:
        yield
    finally:
        root.removeHandler(others)
        ours.removeHandler(handler)
        handler.close()
        ours.propagate = True


class _LibraryLogHandler(logging.Handler):
    """What libraries warn of, such as asyncio and uvicorn: to the same file, with the same limit. Without a
    handler Python would print it on stderr, with tracebacks and without any limit."""

    def __init__(self, file: LogFile) -> None:
        super().__init__(logging.WARNING)
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        self._file.handle(record)


def write_log_summaries() -> None:
    """Called from time to time, so that a count does not wait for the next line."""
    for handler in logging.getLogger("colleague").handlers:
        with contextlib.suppress(Exception):
            if hasattr(handler, "write_summaries"):
                handler.write_summaries()
