"""The command line of the office."""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from office.faults import Faults
from office.mail_history import receive
from office.show import show
from office.store import Store
from office.tools import OPERATIONS, Office

Number = TypeVar("Number", int, float)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        store = Store(options.database)
    except sqlite3.DatabaseError as error:
        parser.error(f"--database {options.database} cannot be used: {error}; name another file")
    if options.show:
        sys.stdout.write(show(store))
        return
    if options.receive:
        push = receive(store, options.receive, options.subject, options.body)
        sys.stdout.write(json.dumps(push) + "\n")
        return
    faults = Faults(dict(options.fail), dict(options.slow))
    server = Office(store, faults, honour_keys=not options.ignore_keys).server()
    if options.http is None:
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=options.http)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("office", description="An office to practise in, as an MCP server.")
    add = parser.add_argument
    add("--database", type=Path, default=Path("office.sqlite"), metavar="FILE", help="made on first start")
    add("--http", type=int, metavar="PORT", help="serve http://127.0.0.1:PORT/mcp instead of stdio")
    add("--ignore-keys", action="store_true", help="make the effect again when a key comes twice")
    fail, slow = _pair(int), _pair(float)
    add(
        "--fail", type=fail, action="append", default=[], metavar="OPERATION=N", help="fail the first N times"
    )
    add(
        "--slow",
        type=slow,
        action="append",
        default=[],
        metavar="OPERATION=SECONDS",
        help="do the work, then answer this late",
    )
    add("--show", action="store_true", help="print what is in the office, and end")
    add("--receive", metavar="FROM", help="let a mail arrive, print the push that tells of it, and end")
    add("--subject", default="A question", help="the subject of that mail")
    add("--body", default="Could you call me?", help="its text")
    return parser


def _pair(number: Callable[[str], Number]) -> Callable[[str], tuple[str, Number]]:
    names = {operation.__name__ for operation in OPERATIONS}

    def read(text: str) -> tuple[str, Number]:
        name, _, value = text.partition("=")
        if name not in names:
            raise argparse.ArgumentTypeError(f"{name!r} is no operation; they are {', '.join(sorted(names))}")
        try:
            return name, number(value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} needs a number, as in {name}=2") from error

    return read
