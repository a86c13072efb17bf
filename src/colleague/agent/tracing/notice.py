"""A sentence for whoever runs the process: in the log, and on stderr when there is one."""

from __future__ import annotations

import logging
import sys

log = logging.getLogger(__name__)


def notice(text: str) -> None:
    log.warning("%s", text)
    try:
        sys.stderr.write(f"colleague: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return  # there is no stderr
