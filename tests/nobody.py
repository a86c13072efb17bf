"""What a user without rights can do."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

NOBODY = 65534


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything, so it steps down for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def without_rights(command: Sequence[str]) -> list[str]:
    """The command as a user to whom modes of files apply. Skips the test where root cannot step down."""
    if os.geteuid() != 0:
        return list(command)
    held = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    if shutil.which(held[0]) is None or subprocess.run([*held, "true"], capture_output=True).returncode:
        pytest.skip("root cannot lay down its rights here")
    return [*held, *command]
