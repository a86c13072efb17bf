"""Named places at which a test can kill the process, to prove that nothing is lost there."""

from __future__ import annotations

import os
import signal


def failpoint(name: str) -> None:
    """Dies at once, as if the machine had, when COLLEAGUE_FAILPOINT names this place."""
    if os.environ.get("COLLEAGUE_FAILPOINT") == name:
        os.kill(os.getpid(), signal.SIGKILL)
