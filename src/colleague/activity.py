"""What a process does, one line each, for whoever runs it. Off until somebody prints it."""

from __future__ import annotations

import logging
from typing import Any

NAME = "colleague.activity"
OFF = logging.CRITICAL + 1

log = logging.getLogger(NAME)
log.propagate = False  # everything is in the store; the log file is for what went wrong
log.setLevel(OFF)


PRINTED = {"printed": True}
"""As `extra` of a log record: whoever runs this process is told the same by a line of its own."""


def is_on() -> bool:
    return log.isEnabledFor(logging.INFO)


def tell(kind: str, text: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """`kind` is said when there are too many of them; `fields` are for programs."""
    if is_on():
        record = logging.LogRecord(NAME, level, "", 0, kind, (), None)  # nobody asks for the caller
        record.activity = {"kind": kind, "text": text, **fields}
        log.handle(record)
