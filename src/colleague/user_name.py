"""Who runs this process, as the machine calls them."""

from __future__ import annotations

import getpass
import os


def user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
