"""Where the gateway listens."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from colleague.config import Settings
from colleague.errors import ColleagueError, UsageError

LOOPBACK = "127.0.0.1"
_NAMES = {"loopback": LOOPBACK, "lan": "0.0.0.0", "localhost": LOOPBACK}  # noqa: S104 - asked for by name


@dataclass(frozen=True)
class Listening:
    """An IP address and a port; port 0 is any free one."""

    address: str
    port: int

    @classmethod
    def of(cls, settings: Settings, *, bind: str | None = None, port: int | None = None) -> Listening:
        """What the command says, else what the settings say."""
        wanted = bind or settings.gateway.bind
        address = _NAMES.get(wanted, wanted)
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise UsageError(
                f"--bind {wanted!r} is no address",
                hint="write loopback, lan, or an IP address of this machine",
            ) from None
        return cls(address, settings.gateway.port if port is None else port)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(self.address).is_loopback

    @property
    def url(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{host}:{self.port}"

    def open(self) -> socket.socket:
        """A socket that is bound and does not accept anybody yet."""
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        # Without its protocol named, asyncio leaves Nagle's delay on: 40 ms for each answer.
        opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind((self.address, self.port))
        except OSError as error:
            opened.close()
            raise ColleagueError(
                f"{self.url} cannot be listened on: {error.strerror}",
                hint="end the program that uses the port, or choose another with --port N",
            ) from None
        return opened
