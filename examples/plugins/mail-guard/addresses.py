"""Addresses of a mail: one, or a list of them."""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import parseaddr
from typing import Any


def cleaned(to: Any) -> Any:
    return [str(each).strip().lower() for each in to] if isinstance(to, list) else str(to).strip().lower()


def strangers(to: Any, domains: Sequence[str]) -> list[str]:
    """The addresses that are in none of the domains. What is no address is a stranger, too."""
    found = (
        [str(each) for each in to] if isinstance(to, list) else [part.strip() for part in str(to).split(",")]
    )
    return [each for each in found if parseaddr(each)[1].lower().rpartition("@")[2] not in domains]
