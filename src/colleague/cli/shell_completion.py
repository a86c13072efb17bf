"""What the shell offers after a Tab: names and ids in the home that the command line means.

Nothing here may fail loudly or take long: files and the database are only read, and an error is no offer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from colleague.experts.expert import Expert
    from colleague.home import Home

Offer = tuple[str, str]
"""A word, and what it stands for."""


def _quiet(find: Callable[[typer.Context], Iterator[Offer]]) -> Callable[[typer.Context, str], list[Offer]]:
    def complete(context: typer.Context, incomplete: str) -> list[Offer]:
        found: list[Offer] = []
        with contextlib.suppress(Exception):
            found.extend(offer for offer in find(context) if offer[0].startswith(incomplete))
        return found

    return complete


def _home(context: typer.Context) -> Home:
    """The home that is named after the command, or before it."""
    from colleague.home import Home

    named: Path | None = None
    here: typer.Context | None = context
    while here is not None and named is None:
        named = here.params.get("home")
        here = here.parent  # type: ignore[assignment] # the same class, under its private name
    return Home.find(named)


@_quiet
def complete_expert(context: typer.Context) -> Iterator[Offer]:
    for expert in _experts(context):
        manifest = expert.read_manifest()
        yield expert.name, manifest.description if manifest else ""


def _experts(context: typer.Context) -> list[Expert]:
    from colleague.experts.expert import listed_experts

    return listed_experts(_home(context))


@_quiet
def complete_trigger(context: typer.Context) -> Iterator[Offer]:
    """Of the expert that was typed before it; of all when none was."""
    wanted = context.params.get("name")
    for expert in _experts(context):
        manifest = expert.read_manifest()
        if manifest and wanted in (None, "", expert.name):
            yield from ((trigger.name, f"{expert.name}: {trigger.handler}") for trigger in manifest.triggers)


@_quiet
def complete_process(context: typer.Context) -> Iterator[Offer]:
    """Of the expert that was typed before it; of all when none was."""
    from colleague.experts.expert import require_valid

    wanted = context.params.get("name")
    for expert in _experts(context):
        if wanted in (None, "", expert.name):
            package = require_valid(expert.read(), expert.name)
            yield from ((process.name, process.description) for process in package.processes)


@_quiet
def complete_run(context: typer.Context) -> Iterator[Offer]:
    from colleague.store.id_offers import recent_runs

    yield from recent_runs(_home(context))


@_quiet
def complete_dead_letter(context: typer.Context) -> Iterator[Offer]:
    from colleague.store.id_offers import dead_letters

    yield from dead_letters(_home(context))


@_quiet
def complete_approval(context: typer.Context) -> Iterator[Offer]:
    from colleague.store.id_offers import pending_approvals

    yield from pending_approvals(_home(context))


@_quiet
def complete_learning(context: typer.Context) -> Iterator[Offer]:
    from colleague.store.id_offers import pending_approvals

    yield from pending_approvals(_home(context), learnings=True)
