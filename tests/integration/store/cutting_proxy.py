"""A proxy before PostgreSQL that cuts a connection at a COMMIT: before the server hears of it, or before the
client hears the answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qs, urlsplit

Cut = Literal["", "before", "after"]


@dataclass
class CuttingProxy:
    """Cuts once each time it is told to; `url` is the way through it."""

    target: str
    url: str
    cuts: int = 0
    meanwhile: Callable[[], None] = lambda: None
    """Done between the answer of the server and the cut."""
    _next: Cut = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cut_next_commit(self, when: Cut) -> None:
        with self._lock:
            self._next = when

    def serve(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        server, muted = socket.socket(socket.AF_UNIX), threading.Event()
        with client, server, contextlib.suppress(OSError):
            server.connect(self.target)
            answers = threading.Thread(target=_forward, args=(server, client, muted), daemon=True)
            answers.start()
            while data := client.recv(65536):
                when = self._take() if b"COMMIT\0" in data else ""
                if when:
                    muted.set()
                if when != "before":
                    server.sendall(data)
                if when:
                    # the server ends the session once it has answered what it was sent
                    server.shutdown(socket.SHUT_WR)
                    answers.join()
                    self.meanwhile()
                    return

    def _take(self) -> Cut:
        with self._lock:
            when, self._next = self._next, ""
            self.cuts += bool(when)
            return when


def _forward(source: socket.socket, target: socket.socket, muted: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if not muted.is_set():
                target.sendall(data)
        if not muted.is_set():
            target.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def cutting_proxy(url: str) -> Iterator[CuttingProxy]:
    parts = urlsplit(url)
    target = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        proxy = CuttingProxy(target, f"postgresql://postgres:@127.0.0.1:{port}{parts.path}")
        threading.Thread(target=proxy.serve, args=(listener,), daemon=True).start()
        yield proxy
