"""How much of the gateway one caller can take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes, times in seconds. The size of a body is a setting: hooks.maxBodyBytes."""

    head_bytes: int = 32_768
    headers: int = 100
    head_seconds: float = 10.0
    """From the first byte of a request, or from the opening of a connection, to the end of its headers."""
    body_seconds: float = 20.0
    send_seconds: float = 30.0
    """How long a caller may take to read what it is sent."""
    connections: int = 1000
    failed_tries: int = 10
    """Wrong tokens or signatures a minute, from one address."""
    drain_seconds: float = 10.0
