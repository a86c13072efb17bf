"""Untrusted text on one line, control characters escaped."""

from __future__ import annotations


def plain(text: str) -> str:
    """What a terminal would act on, or not show, is written out."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
