"""colleague serve and worker: the processes that work by themselves."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Annotated

import typer

from colleague.cli.options import HomeOption

STDOUT = 1

QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Only the first line, not what happens.")]
LogJsonOption = Annotated[
    bool, typer.Option("--log-json", help="Print what happens as JSON, an object a line.")
]


def serve(
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="The port; 0 is any free one.")
    ] = None,
    bind: Annotated[
        str | None, typer.Option("--bind", metavar="ADDRESS", help="loopback, lan or an IP address.")
    ] = None,
    new_database: Annotated[
        bool, typer.Option("--new-database", help="Go on although the database of this home is gone.")
    ] = False,
    quiet: QuietOption = False,
    log_json: LogJsonOption = False,
    home: HomeOption = None,
) -> None:
    """Gateway and worker: HTTP on one port, until SIGTERM or Ctrl-C. Prints a line for all that happens."""
    import asyncio

    from colleague.descriptors import fill_standard_streams

    fill_standard_streams()
    from colleague.cli.client import note_without_effect, opened
    from colleague.gateway.listening import Listening
    from colleague.gateway.serve import serve_until_signalled
    from colleague.runtime.process_restart import execute_again

    place, settings = opened(home)
    note_without_effect(place, settings)
    listening = Listening.of(settings, bind=bind, port=port)
    if new_database:
        from colleague.cli.db import forget_database

        with place.working(wait_seconds=0):
            forget_database(place, settings)
    with _printing(quiet=quiet, as_json=log_json) as say:
        restarts = asyncio.run(serve_until_signalled(place, settings, listening, say))
    if restarts:
        execute_again()


def worker(quiet: QuietOption = False, log_json: LogJsonOption = False, home: HomeOption = None) -> None:
    """Worker only, without HTTP: any number of them on one PostgreSQL database."""
    import asyncio

    from colleague.descriptors import fill_standard_streams

    fill_standard_streams()
    from colleague.cli.client import note_without_effect, opened
    from colleague.errors import UsageError
    from colleague.gateway.serve import work_until_signalled

    place, settings = opened(home)
    note_without_effect(place, settings)
    if settings.experts.database is None:
        raise UsageError(
            "on SQLite one process works on a home, and that is colleague serve",
            hint="set experts.database to a postgresql:// URL for workers of their own",
        )
    with _printing(quiet=quiet, as_json=log_json) as say:
        asyncio.run(work_until_signalled(place, settings, say))


@contextlib.contextmanager
def _printing(*, quiet: bool, as_json: bool) -> Iterator[Callable[[str], None]]:
    """What says the first line; the lines of what happens come after it."""
    from colleague.cli.output import say
    from colleague.terminal_log import printing_activity

    if quiet:
        yield say
        return
    with printing_activity(STDOUT, as_json=as_json) as lines:

        def say_first(text: str) -> None:
            say(_ready_document(text) if as_json else text)
            lines.begin()

        yield say_first


def _ready_document(text: str) -> str:
    """The first line of `text` says where it listens, each further one what cannot work."""
    first, *problems = text.splitlines()
    return json.dumps({"kind": "ready", "text": first, "problems": problems}, ensure_ascii=False)
