"""Starts a browser that has no network but one door. A program of its own, with the standard library alone.

It runs in a sandbox without a network. What connects to a port of that sandbox's own loopback comes out of a
Unix socket, where the filtering proxy listens.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading

_CHUNK = 65_536


def main() -> None:
    port, door, *command = sys.argv[1:]
    listening = socket.create_server(("127.0.0.1", int(port)))
    if os.fork() == 0:
        _relay(listening, door)
    listening.close()
    os.execv(command[0], command)  # noqa: S606


def _relay(listening: socket.socket, door: str) -> None:
    """Ends with the sandbox. What the browser was started with is not held open."""
    for descriptor in (3, 4):
        if descriptor != listening.fileno():
            with contextlib.suppress(OSError):
                os.close(descriptor)
    while True:
        ours, _ = listening.accept()
        threading.Thread(target=_joined, args=(ours, door), daemon=True).start()


def _joined(ours: socket.socket, door: str) -> None:
    with ours, socket.socket(socket.AF_UNIX) as there:
        try:
            there.connect(door)
        except OSError:
            return
        back = threading.Thread(target=_copied, args=(there, ours), daemon=True)
        back.start()
        _copied(ours, there)
        back.join()


def _copied(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
