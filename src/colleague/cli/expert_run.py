"""colleague expert run and rehearse: an expert at work, watched from the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import ExpertArgument, HomeOption, JsonOption

if TYPE_CHECKING:
    from pathlib import Path

    from colleague.config import Settings
    from colleague.experts.invoke import Invocation
    from colleague.home import Home
    from colleague.packages.process import Process
    from colleague.store.accept import Arrival

ProcessOption = Annotated[str, typer.Option("--process", metavar="P", help="Run this process.")]
InputOption = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="NAME=VALUE", help="An input of the process; repeatable."),
]


def run(
    name: ExpertArgument,
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task in your own words.")] = "",
    process: ProcessOption = "",
    inputs: InputOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Describe what needs a person instead of doing it.")
    ] = False,
    model: Annotated[str, typer.Option("--model", help="Use this model, as provider/model.")] = "",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it ends or asks.")] = True,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have an expert do something. Exit code 4: a person is asked, and a printed command continues it."""
    from colleague.cli.hosting import opened
    from colleague.errors import UsageError

    if bool(task) == bool(process):
        raise UsageError("say what to do: a TASK in quotes, or --process P", hint="not both")
    if task and inputs:
        raise UsageError("--input belongs to --process", hint="put it into the task's text")
    place, settings = opened(home)
    asked = _invocation(place, name, model, dry_run)
    arrival = _process(asked, process, inputs or []) if process else asked.task(task)
    _go(place, settings, asked, arrival, wait=wait, as_json=as_json)


def rehearse(
    name: ExpertArgument,
    process: ProcessOption = "",
    inputs: InputOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Walk through a process without a model: every step, call, approval and output. No key needed."""
    import asyncio

    from colleague.cli.hosting import opened
    from colleague.cli.output import say, say_json
    from colleague.errors import UsageError
    from colleague.experts.invoke import REHEARSAL, find_process

    if inputs and not process:
        raise UsageError("--input belongs to --process", hint="name the process to rehearse")
    place, settings = opened(home)
    asked = _invocation(place, name, REHEARSAL, True)
    chosen = [find_process(asked.package, process)] if process else list(asked.package.processes)
    if not chosen:
        raise UsageError(f"{name} has no process to rehearse")
    reports = asyncio.run(_rehearse(place, settings, asked, chosen, inputs or []))
    if as_json:
        say_json(reports[0].to_json() if process else [report.to_json() for report in reports])
    else:
        for report in reports:
            say("\n".join(report.lines()) + "\n")
    if not all(report.ok for report in reports):
        raise typer.Exit(1)


def _invocation(home: Home, name: str, model: str, dry_run: bool) -> Invocation:
    from colleague.experts.expert import find_expert
    from colleague.experts.invoke import Invocation

    expert = find_expert(home, name)
    return Invocation(home, expert, expert.load(), model, dry_run)


def _process(asked: Invocation, name: str, given: list[str]) -> Arrival:
    from colleague.experts.invoke import find_process, parse_inputs

    process = find_process(asked.package, name)
    return asked.process(process, parse_inputs(process, given))


def _go(
    home: Home, settings: Settings, asked: Invocation, arrival: Arrival, *, wait: bool, as_json: bool
) -> None:
    import asyncio

    from colleague.cli.run_view import end_with

    if wait:
        asyncio.run(_work(home, settings, asked, arrival, as_json))
        end_with()
    else:
        _leave(home.root, arrival, as_json)


def _leave(root: Path, arrival: Arrival, as_json: bool) -> None:
    """Accepts the run for whoever works on this home."""
    from colleague.cli.hosting import with_database
    from colleague.cli.output import TICK, say, say_json
    from colleague.store.accept import accept
    from colleague.store.ids import short

    accepted = with_database(root, lambda db: db.write(lambda tx: accept(tx, arrival)), writes=True)
    if as_json:
        say_json({"event_id": accepted.event_id, "run_id": accepted.run_id})
    else:
        ending = short(str(accepted.run_id))
        say(
            f"{TICK} run {ending} is accepted. It begins when colleague serve runs; "
            f"watch it with: colleague run watch {ending}"
        )


async def _work(home: Home, settings: Settings, asked: Invocation, arrival: Arrival, as_json: bool) -> None:
    from colleague.cli.output import say, say_json
    from colleague.cli.run_view import Outcome, Watching, exit_code_of, say_end
    from colleague.experts.host import open_host
    from colleague.experts.reporting import run_report
    from colleague.store.accept import accept

    async with open_host(home, settings) as host:
        accepted = await host.database.write(lambda tx: accept(tx, arrival))
        run_id = str(accepted.run_id)
        with Watching(host.bus, quiet=as_json, experts={run_id: arrival.steps}):
            [run] = await host.advance_only([run_id])
        document = await host.database.read(lambda tx: run_report(tx, home, run.id))
        Outcome.code = exit_code_of(run)
        if as_json:
            say_json(document)
            return
        process = asked.package.process(run.process)
        if arrival.dry_run and process is not None:
            say("\n".join(_report(asked, process, document).lines()))
            return
        await say_end(host.database, home, run, document)


async def _rehearse(
    home: Home, settings: Settings, asked: Invocation, processes: list[Process], given: list[str]
) -> list[Any]:
    from colleague.cli.output import progress
    from colleague.experts.host import open_host
    from colleague.experts.invoke import parse_inputs
    from colleague.experts.rehearsal.sample import sample
    from colleague.experts.reporting import run_report
    from colleague.packages.parameter import object_schema
    from colleague.store.accept import accept

    reports = []
    with progress(f"Rehearsing {asked.expert.name}") as tell:
        async with open_host(home, settings) as host:
            for process in processes:
                tell(f"Rehearsing {process.name}")
                arrival = asked.process(
                    process, sample(object_schema(process.inputs)) | parse_inputs(process, given)
                )
                accepted = await host.database.write(lambda tx, it=arrival: accept(tx, it))  # type: ignore[misc]
                [run] = await host.advance_only([str(accepted.run_id)])
                document = await host.database.read(lambda tx, it=run: run_report(tx, home, it.id))  # type: ignore[misc]
                reports.append(_report(asked, process, document))
    return reports


def _report(asked: Invocation, process: Process, document: dict[str, Any]) -> Any:
    from colleague.experts.rehearsal.report import execution_report

    return execution_report(asked.package, process, document)
