"""The bare address of a sender, out of what mail programs write in From."""

from __future__ import annotations

import re
from email.utils import parseaddr

_LONGEST = 1000
_MOST_COMMENTS = 20  # parseaddr calls itself for each one inside another
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_IN_BRACKETS = re.compile(r"([^<>]*)<([^<>]*)>")
_ADDRESS = re.compile(r"[^\s@<>()\[\]\\,;:\"]{1,64}@[^\s@<>()\[\]\\,;:\"]{1,190}")


def bare_address(text: object) -> str | None:
    """`sarah@acme.com` of `"Sarah Chen" <Sarah@Acme.com>`; None unless there is exactly one to be had.

    A name in front of the brackets is only a name, even when it looks like an address."""
    if not isinstance(text, str) or len(text) > _LONGEST or text.count("(") > _MOST_COMMENTS:
        return None
    plain = _QUOTED.sub(" ", " ".join(text.split())).strip()
    bracketed = _IN_BRACKETS.fullmatch(plain)
    if bracketed:
        name, candidate = bracketed[1], f"<{bracketed[2]}>"
        is_list = "@" in name and "," in name
    else:
        candidate, is_list = plain, plain.count("@") != 1 or "<" in plain
    address = parseaddr(candidate)[1]
    is_whole = address in candidate and address.isprintable() and _ADDRESS.fullmatch(address)
    return address.lower() if is_whole and not is_list and '"' not in plain else None
