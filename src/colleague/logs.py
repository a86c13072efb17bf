"""Structured logs: one JSON object a line in the home's logs folder, without secrets."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import logging.handlers
import time
from collections.abc import Iterator
from pathlib import Path

from colleague.files import private_folder, private_opener
from colleague.redaction import redact

FILE = "colleague.jsonl"
MOST_BYTES = 5_000_000
KEPT = 3


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


class PrivateLogFile(logging.handlers.RotatingFileHandler):
    """A log that only its owner can read."""

    def _open(self) -> io.TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, opener=private_opener)


@contextlib.contextmanager
def logging_to(folder: Path) -> Iterator[None]:
    """Our own loggers write to the folder for as long as the block lasts."""
    private_folder(folder)
    handler = PrivateLogFile(
        folder / FILE, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8", delay=True
    )
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("colleague")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        with contextlib.suppress(OSError):  # what a full disk did not take
            handler.close()
        logger.propagate = True
