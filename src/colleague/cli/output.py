"""How answers look: data on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO

import typer

from colleague.cli.error_document import error_document
from colleague.cli.typed import typed, with_home
from colleague.errors import ColleagueError, DatabaseUnavailable, Declined
from colleague.plain_text import plain as plain  # for the views, which take it from here

TICK = "✓"
CROSS = "✗"


_ACTED_ON = re.compile(
    r"\x1b\[(?:[01]|3[12])m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""What a terminal acts on beside new lines and tabs; and the colours of our own marks, which are left."""


def say(text: str = "", *, end: str = "\n") -> None:
    typer.echo(_harmless(with_home(text), sys.stdout) + end, nl=False)


def note(text: str) -> None:
    """A message that is not data."""
    typer.echo(_harmless(with_home(text), sys.stderr), err=True)


def _harmless(text: str, stream: TextIO) -> str:
    """For a person's terminal, which the words of others must not move, clear or retitle. Other programs get
    what there is."""
    if not stream.isatty():
        return text
    return _ACTED_ON.sub(_written_out, text.replace("\r\n", "\n"))


def _written_out(found: re.Match[str]) -> str:
    return found[0] if len(found[0]) > 1 else f"\\u{ord(found[0]):04x}"


def say_json(document: Any) -> None:
    typer.echo(_harmless(json.dumps(document, indent=2, ensure_ascii=False), sys.stdout))


def say_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    if not sys.stdout.isatty():
        _say_plain_table([columns, *rows])
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(Text(_harmless(with_home(cell), sys.stdout)) for cell in row))
    Console().print(table)


def _say_plain_table(rows: list[Sequence[str]]) -> None:
    """For other programs: aligned, never wrapped, and without the time it takes to import Rich."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def mark(good: bool) -> str:
    return typer.style(TICK, fg="green") if good else typer.style(CROSS, fg="red")


def say_error(error: ColleagueError | DatabaseUnavailable) -> None:
    say_failure(error.code, error.message, error.hint)


def say_failure(code: str, message: str, hint: str = "") -> None:
    """What went wrong, on stderr: for a person, or as one line of JSON after --json."""
    if typed().as_json:
        document = error_document(code, message, with_home(hint))
        typer.echo(_harmless(json.dumps(document, ensure_ascii=False), sys.stderr), err=True)
        return
    note(f"{typer.style(CROSS, fg='red')} {message}")
    if hint:
        note(f"  {hint}")


def confirm(question: str, *, yes: bool) -> None:
    """Goes on only after a yes; without a person to ask, only with --yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Declined(
            f"nobody is here to answer: {question}", hint="if it is meant, run it again with --yes"
        )
    if not typer.confirm(question, err=True):
        raise Declined("nothing was changed")


@contextlib.contextmanager
def progress(start: str) -> Iterator[Callable[[str], None]]:
    """A line that tells what is going on, while a person is looking."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(start)) as status:
        yield lambda text: status.update(escape(_harmless(text, sys.stderr)))
