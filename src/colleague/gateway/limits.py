"""How much of the gateway one caller can take."""

from __future__ import annotations

from dataclasses import dataclass, replace


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
    """Open at once; who comes then is told 503. `within` lowers it to what the descriptors allow."""
    accepted_at_once: int = 64
    """Connections taken from the kernel in one turn of the loop, before any of them can be told no."""
    failed_tries: int = 10
    """Wrong tokens or signatures a minute, from one address."""
    drain_seconds: float = 10.0

    def within(self, descriptors: int, *, servers: int, runs: int) -> Limits:
        """Leaves descriptors for our own work: the database, logs, MCP servers, and the models and files of
        runs. At least a quarter of all is for callers."""
        reserve = OWN_DESCRIPTORS + servers * PER_SERVER + runs * PER_RUN
        room = max(descriptors - reserve, descriptors // 4)
        at_once = max(1, min(self.accepted_at_once, room // (2 * TURNS)))
        return replace(
            self,
            connections=max(1, min(self.connections, room - at_once * TURNS)),
            accepted_at_once=at_once,
        )


OWN_DESCRIPTORS = 64
PER_SERVER = 8
PER_RUN = 4
TURNS = 4
"""Turns of the loop from the accepting of a connection to its end, when it is refused."""
