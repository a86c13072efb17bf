"""What the readers of documents share."""

from __future__ import annotations

MOST_CHARACTERS = 4_000_000


class Unreadable(Exception):
    """The document cannot be read; the message is for the model."""
