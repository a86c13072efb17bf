"""Where the pages of a stranger are, in the browser of these tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Site:
    """One server, under several names: for a browser each is a site of its own."""

    port: int

    @property
    def evil(self) -> str:
        return f"http://evil.example:{self.port}/"

    @property
    def other_port(self) -> str:
        """The same site as the gateway for a browser, another origin."""
        return f"http://127.0.0.1:{self.port}/"
