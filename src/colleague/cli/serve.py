"""colleague serve and worker: the processes that work by themselves."""

from __future__ import annotations

from typing import Annotated

import typer

from colleague.cli.options import HomeOption


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
    home: HomeOption = None,
) -> None:
    """Gateway and worker: HTTP on one port, until SIGTERM or Ctrl-C."""
    import asyncio

    from colleague.descriptors import fill_standard_streams

    fill_standard_streams()
    from colleague.cli.hosting import note_without_effect, opened
    from colleague.cli.output import say
    from colleague.gateway.listening import Listening
    from colleague.gateway.serve import serve_until_signalled

    place, settings = opened(home)
    note_without_effect(settings)
    listening = Listening.of(settings, bind=bind, port=port)
    if new_database:
        from colleague.cli.db import forget_database

        with place.working(wait_seconds=0):
            forget_database(place, settings)
    asyncio.run(serve_until_signalled(place, settings, listening, say))


def worker(home: HomeOption = None) -> None:
    """Worker only, without HTTP: any number of them on one PostgreSQL database."""
    import asyncio

    from colleague.descriptors import fill_standard_streams

    fill_standard_streams()
    from colleague.cli.hosting import note_without_effect, opened
    from colleague.cli.output import say
    from colleague.errors import UsageError
    from colleague.gateway.serve import work_until_signalled

    place, settings = opened(home)
    note_without_effect(settings)
    if settings.experts.database is None:
        raise UsageError(
            "on SQLite one process works on a home, and that is colleague serve",
            hint="set experts.database to a postgresql:// URL for workers of their own",
        )
    asyncio.run(work_until_signalled(place, settings, say))
