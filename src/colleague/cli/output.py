"""How answers look: data on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import typer

from colleague.cli.error_document import error_document
from colleague.cli.typed import typed, with_home
from colleague.errors import ColleagueError, DatabaseUnavailable, Declined
from colleague.plain_text import plain as plain  # for the views, which take it from here

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

TICK = "✓"
CROSS = "✗"
_PALETTE = {
    "green": ("completed", "delivered", "approve", "approved", "done", "happened", "live", "on", "enabled"),
    "red": (
        "failed",
        "dead_letter",
        "abandoned",
        "expired",
        "lapsed",
        "revoked",
        "broken",
        "reject",
        "not_done",
    ),
    "yellow": (
        "waiting",
        "pending",
        "queued",
        "running",
        "retrying",
        "held",
        "resolving",
        "paused",
        "skipped",
    ),
}
_COLOURS = {word: colour for colour, words in _PALETTE.items() for word in words}
_DIM = ("ID", "RUN", "ACCEPTED", "ASKED", "SINCE", "WRITTEN", "NEXT", "LAST", "AT", "UNTIL")
"""Columns of ids and times."""
NARROWEST = 10
"""Characters that a column of a table needs on average."""
_SAID = ("STATUS", "STATE")
"""Columns of words that have a colour."""


_ACTED_ON = re.compile(
    r"\x1b\[(?:[012]|3[123])m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""What a terminal acts on beside new lines and tabs; and the colours of our own marks, which are left."""


def say(text: str = "", *, end: str = "\n") -> None:
    """As it is: it may be what a model, a file or a tool said."""
    typer.echo(_harmless(text, sys.stdout) + end, nl=False)


def say_hint(text: str) -> None:
    """A line of ours that tells what to type; the home that was typed is in its commands."""
    say(with_home(text))


def note(text: str) -> None:
    """A message of ours that is not data; the home that was typed is in its commands."""
    note_as_is(with_home(text))


def note_as_is(text: str) -> None:
    """A message with words of others in it, which stay as they are."""
    typer.echo(_harmless(text, sys.stderr), err=True)


def _harmless(text: str, stream: TextIO) -> str:
    """For a person's terminal, which the words of others must not move, clear or retitle. Other programs get
    what there is."""
    return harmless(text) if stream.isatty() else text


def harmless(text: str) -> str:
    """With everything written out that a terminal would act on."""
    return _ACTED_ON.sub(_written_out, text.replace("\r\n", "\n"))


def _written_out(found: re.Match[str]) -> str:
    return found[0] if len(found[0]) > 1 else f"\\u{ord(found[0]):04x}"


def behind_bar(text: str, before: str = "  ", *, bar: str = "│") -> Iterator[str]:
    """Words of others, a bar before each line of them, so that none can pass for ours: on a terminal also
    before what does not fit into a line of it. `before` stands in front of the first bar."""
    for line in text.splitlines() or [""]:
        for part in _terminal_lines(plain(line), taken=len(f"{before}{bar} ")):
            yield f"{before}{bar} {part}".rstrip()
            before = " " * len(before)


def _terminal_lines(line: str, *, taken: int) -> Sequence[str]:
    """As many lines as the terminal will make of it, broken between words; for other programs, the one."""
    if not (sys.stdout.isatty() or sys.stderr.isatty()):
        return [line]
    from rich.console import Console
    from rich.text import Text

    room = max(NARROWEST, shutil.get_terminal_size().columns - taken)
    return [part.plain for part in Text(line).wrap(Console(width=room), room)] or [""]


def say_json(document: Any) -> None:
    typer.echo(_harmless(json.dumps(document, indent=2, ensure_ascii=False), sys.stdout))


def say_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    if not sys.stdout.isatty():
        _say_plain_table([columns, *rows])
        return
    from rich.console import Console

    console = Console()
    table = _records if console.width < NARROWEST * len(columns) else _columns
    console.print(table(columns, rows))


def _columns(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:  # on a narrow terminal text gets more lines, and no word of it is lost
        table.add_column(name, no_wrap=name in _DIM, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(name, cell) for name, cell in zip(columns, row, strict=True)))
    return table


def _records(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """For a terminal on which columns would be single letters: a line for each cell that has something."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for number, row in enumerate(rows):
        if number:
            table.add_row()
        for name, cell in zip(columns, row, strict=True):
            if cell:
                table.add_row(name, _cell(name, cell))
    return table


def _cell(column: str, cell: str) -> Text:
    from rich.text import Text

    return Text(_harmless(cell, sys.stdout), style=_style(column, cell))


def _style(column: str, cell: str) -> str:
    """How a cell looks on a terminal; Rich leaves colours out where NO_COLOR is set."""
    if column in _DIM:
        return "dim"
    return _COLOURS.get(cell.partition(" ")[0].rstrip(":"), "") if column in _SAID else ""


def _say_plain_table(rows: list[Sequence[str]]) -> None:
    """For other programs: aligned, never wrapped, and without the time it takes to import Rich."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def mark(good: bool) -> str:
    return coloured(TICK, "green") if good else coloured(CROSS, "red")


def coloured(text: str, colour: str) -> str:
    """Of our own marks and words. Written to anything but a terminal, the colour is left out."""
    return text if os.environ.get("NO_COLOR") else typer.style(text, fg=colour)


def dim(text: str) -> str:
    """An id or a time beside what counts."""
    return text if os.environ.get("NO_COLOR") else typer.style(text, dim=True)


def status_coloured(word: str) -> str:
    """A status or an outcome: green is good, red is bad, yellow waits."""
    colour = _COLOURS.get(word.partition(" ")[0])
    return coloured(word, colour) if colour else word


def say_error(error: ColleagueError | DatabaseUnavailable) -> None:
    say_failure(error.code, error.message, error.hint)


def say_failure(code: str, message: str, hint: str = "") -> None:
    """What went wrong, on stderr: for a person, or as one line of JSON after --json."""
    if typed().as_json:
        document = error_document(code, message, with_home(hint))
        typer.echo(_harmless(json.dumps(document, ensure_ascii=False), sys.stderr), err=True)
        return
    note_as_is(f"{mark(False)} {message}")
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
