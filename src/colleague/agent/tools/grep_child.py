"""The search itself, in a process of its own: a pattern that never ends can then be stopped.

Python holds its one lock while it matches, so a thread could not be. Reads a line of JSON with the pattern,
then for each file a line of JSON (path, size) and its bytes; writes a line of JSON for each line found, and
at last how it ended. Run by its path, with nothing but the standard library."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, BinaryIO

_MOST_MEMORY = 1 << 30
_LONGEST_SEARCHED = 20_000
_LONGEST_SHOWN = 500


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def limit_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    except (ImportError, ValueError, OSError):
        return


def search(order: dict[str, Any], source: BinaryIO) -> None:
    text = re.escape(order["pattern"]) if order["literal"] else order["pattern"]
    pattern = re.compile(text, re.IGNORECASE if order["ignore_case"] else 0)
    left = int(order["limit"])
    while left >= 0 and (header := source.readline()):
        file = json.loads(header)
        say(searching=file["path"])
        lines = source.read(file["size"]).decode("utf-8", "replace").removesuffix("\n").split("\n")
        lines = [line.rstrip("\r") for line in lines]
        found = [number for number, line in enumerate(lines) if pattern.search(line[:_LONGEST_SEARCHED])]
        tell(file["path"], lines, found[:left], order["context"])
        left -= len(found)
    say(done=True, more=left < 0)


def tell(path: str, lines: list[str], found: list[int], context: int) -> None:
    """The lines found, with those around them, none of them twice."""
    hits, last = set(found), -1
    for number in found:
        for near in range(max(number - context, last + 1), min(number + context + 1, len(lines))):
            text = lines[near]
            say(
                path=path,
                line=near + 1,
                text=text[:_LONGEST_SHOWN],
                rest=len(text[_LONGEST_SHOWN:]),
                hit=near in hits,
            )
            last = near


def main() -> None:
    limit_memory()
    source = sys.stdin.buffer
    order = json.loads(source.readline())
    try:
        search(order, source)
    except re.error as error:
        say(error=str(error))
    except (RecursionError, OverflowError, MemoryError):
        say(error="it is too large")


if __name__ == "__main__":
    main()
