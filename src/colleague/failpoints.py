"""Named places at which a test can kill the process, to prove that nothing is lost there."""

from __future__ import annotations

import os
import signal
from collections import Counter

_hits: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Dies at once, as if the machine had, when COLLEAGUE_FAILPOINT names this place.

    `name@3` dies at the third time; COLLEAGUE_FAILPOINT_LOG names a file that gets a line for each time."""
    wanted = os.environ.get("COLLEAGUE_FAILPOINT")
    log = os.environ.get("COLLEAGUE_FAILPOINT_LOG")
    if wanted is None and log is None:
        return
    _hits[name] += 1
    here = f"{name}@{_hits[name]}"
    if log:
        with open(log, "a", encoding="utf-8") as file:  # noqa: PTH123 - only tests come here
            file.write(here + "\n")
    if wanted in (here, name):
        os.kill(os.getpid(), signal.SIGKILL)
