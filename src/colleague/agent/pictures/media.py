"""Where pictures are kept: `<home>/state/media/<sha256>`, so that a transcript only names them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from colleague.agent.pictures.picture import MOST_BYTES
from colleague.files import write_atomic
from colleague.home import Home

SCHEME = "media:"
_URL = re.compile(r"media:([0-9a-f]{64})")


@dataclass(frozen=True)
class MediaRef:
    """A kept picture. Its content never changes: the name is the hash of it."""

    sha256: str
    media_type: str

    @property
    def url(self) -> str:
        """What stands in a stored message."""
        return f"{SCHEME}{self.sha256}"

    @classmethod
    def of(cls, url: str, media_type: str) -> MediaRef | None:
        """The reverse; None for any other address."""
        found = _URL.fullmatch(url)
        return cls(found[1], media_type) if found else None


def keep_picture(home: Home, data: bytes, media_type: str) -> MediaRef:
    """Writes a picture so that it survives a power cut; done once per content, whoever does it.

    A message that names it is committed afterwards: what is never named goes with `remove_media`."""
    ref = MediaRef(hashlib.sha256(data).hexdigest(), media_type)
    file = _file(home, ref)
    if load_picture(home, ref) is None:
        write_atomic(file, data, mode=0o600)
    else:
        os.utime(file)  # it is young again, and stays until its message is stored
    return ref


def load_picture(home: Home, ref: MediaRef) -> bytes | None:
    """The bytes that were kept; None when they are gone or no longer the same."""
    try:
        descriptor = os.open(_file(home, ref), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with contextlib.closing(os.fdopen(descriptor, "rb")) as file, contextlib.suppress(OSError):
        data = file.read(MOST_BYTES + 1)
        return data if hashlib.sha256(data).hexdigest() == ref.sha256 else None
    return None


def old_media(home: Home, before: float) -> list[str]:
    """The names of what was kept, or kept again, before a time in seconds."""
    folder = home.state / "media"
    if not folder.is_dir():
        return []
    return [each.name for each in folder.iterdir() if each.is_file() and each.stat().st_mtime < before]


def remove_media(home: Home, names: Iterable[str], before: float) -> int:
    """Removes those that were not kept again meanwhile; returns how many."""
    gone = 0
    for name in names:
        file = home.state / "media" / name
        with contextlib.suppress(FileNotFoundError):
            if file.stat().st_mtime < before:
                file.unlink()
                gone += 1
    return gone


def _file(home: Home, ref: MediaRef) -> Path:
    return home.state / "media" / ref.sha256
