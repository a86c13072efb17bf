"""The token of a home whose settings name none: made once, readable by its owner only."""

from __future__ import annotations

import os
import secrets

from colleague.files import private_folder, sync_folder
from colleague.home import Home

FILE = "gateway.token"


def read_own_token(home: Home) -> str:
    """Empty when there is none yet."""
    try:
        return (home.state / FILE).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def own_token(home: Home) -> str:
    """The token, made when there is none."""
    found = read_own_token(home)
    if found:
        return found
    private_folder(home.state)
    token = secrets.token_urlsafe(32)
    try:
        descriptor = os.open(home.state / FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return read_own_token(home)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    sync_folder(home.state)
    return token
