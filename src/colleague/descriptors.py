"""File descriptors of this process: how many there may be, and the three that every process should have."""

from __future__ import annotations

import os
import resource
import sys

MOST = 65_536
"""More is never needed here, and some programs that we start walk through all that are allowed."""


def raise_descriptor_limit() -> int:
    """Raises the soft limit to the hard one; the limit that counts from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return MOST if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):  # some systems have a lower limit of their own
        return soft
    return wanted


def fill_standard_streams() -> None:
    """Opens stdin, stdout and stderr on /dev/null where they are closed. Else a socket or a file of ours gets
    their number, and what somebody prints is written into it."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - stays open


def can_open_another() -> bool:
    """Whether this process can open a file now."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return False
    return True
