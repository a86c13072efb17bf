"""A program that is not started anew, but forked from a process that has imported what it needs: this is the
process that was started, and it only passes on its arguments, folder, environment and streams.

Run with -S and -E, so that it costs next to nothing: door.py SOCKET COMMAND ... See tests/forked.py."""

import json
import os
import signal
import socket
import sys


def main(door: str, *command: str) -> None:
    errand = {"command": command, "cwd": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109 - it is quicker
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(door)
        said = json.dumps(errand).encode()
        socket.send_fds(line, [len(said).to_bytes(4)], [0, 1, 2])
        line.sendall(said)
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, lambda number, _: line.sendall(bytes([number])))
        code = int.from_bytes(line.recv(4), signed=True)
    if code < 0:
        if code != -signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main(*sys.argv[1:])
