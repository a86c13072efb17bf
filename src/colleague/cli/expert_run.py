"""colleague expert run and rehearse: an expert at work, watched from the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.dry_run import DryRunOption, dryness
from colleague.cli.options import ExpertArgument, HomeOption, JsonOption, ModelOption, WaitOption
from colleague.cli.shell_completion import complete_process

if TYPE_CHECKING:
    from colleague.cli.client import Client
    from colleague.experts.rehearsal.execution_report import Report
    from colleague.home import Home
    from colleague.packages.package import Package
    from colleague.packages.process import Process
    from colleague.run_document import RunDocument
    from colleague.runtime.requests import AcceptedEvent

ProcessOption = Annotated[
    str,
    typer.Option("--process", metavar="P", help="Run this process.", autocompletion=complete_process),
]
InputOption = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="NAME=VALUE", help="An input of the process; repeatable."),
]


def run(
    name: ExpertArgument,
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task in your own words.")] = "",
    process: ProcessOption = "",
    inputs: InputOption = None,
    dry_run: DryRunOption = None,
    model: ModelOption = "",
    wait: WaitOption = True,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have an expert do something. Exit code 4: a person is asked, and a printed command continues it."""
    from colleague.cli.client import with_client
    from colleague.cli.run_view import end_with
    from colleague.errors import UsageError
    from colleague.home import Home
    from colleague.runtime.requests import RunRequest

    if task and process:
        hint = "name one of them; an input is written --input NAME=VALUE"
        raise UsageError(f"there is a task, {task!r}, beside --process {process}", hint=hint)
    if not task and not process:
        raise UsageError("say what to do", hint="a TASK in quotes, or --process P")
    if task and inputs:
        raise UsageError("--input belongs to --process", hint="put it into the task's text")
    package = _package(Home.find(home), name)
    given = _inputs(package, process, inputs or []) if process else {}
    asked = RunRequest(name, task, process, given, model, dryness(dry_run))

    async def go(using: Client) -> int:
        accepted = await using.runs.start(asked)
        if wait:
            return await _follow(using, package, str(accepted.run_id), as_json)
        say_accepted(accepted, as_json)
        return 0

    end_with(with_client(home, go))


def rehearse(
    name: ExpertArgument,
    process: ProcessOption = "",
    inputs: InputOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Walk through a process without a model: every step, call, approval and output. No key needed."""
    from colleague.cli.client import with_client
    from colleague.cli.output import say, say_json
    from colleague.errors import UsageError
    from colleague.experts.runs.inputs import find_process
    from colleague.home import Home

    if inputs and not process:
        raise UsageError("--input belongs to --process", hint="name the process to rehearse")
    package = _package(Home.find(home), name)
    chosen = [find_process(package, process)] if process else list(package.processes)
    if not chosen:
        raise UsageError(f"{name} has no process to rehearse")
    given = _inputs(package, process, inputs or []) if process else {}
    reports = with_client(home, lambda using: _rehearse(using, name, package, chosen, given))
    if as_json:
        say_json(reports[0].to_json() if process else [report.to_json() for report in reports])
    else:
        for report in reports:
            say("\n".join(report.lines()) + "\n")
    if not all(report.ok for report in reports):
        raise typer.Exit(1)


def _package(home: Home, name: str) -> Package:
    """The package as far as it counts; what does not is said."""
    from colleague.cli.expert_notice import note_all
    from colleague.experts.expert import find_expert

    expert = find_expert(home, name)
    note_all([expert])
    return expert.load()


def _inputs(package: Package, name: str, given: list[str]) -> dict[str, Any]:
    from colleague.experts.runs.inputs import find_process, parse_inputs

    return parse_inputs(find_process(package, name), given)


def say_accepted(accepted: AcceptedEvent, as_json: bool) -> None:
    """For a run that nobody waits for."""
    from colleague.cli.output import TICK, say_hint, say_json
    from colleague.run_document import short

    if as_json:
        say_json({"event_id": accepted.event_id, "run_id": accepted.run_id})
        return
    ending = short(str(accepted.run_id))
    say_hint(
        f"{TICK} run {ending} is accepted. It is done by colleague serve; watch: colleague run watch {ending}"
    )


async def _follow(using: Client, package: Package, run_id: str, as_json: bool) -> int:
    from colleague.cli.output import say
    from colleague.cli.run_view import exit_code_of, say_documents

    [document] = await using.follow([run_id], quiet=as_json)
    process = package.process(document["process"])
    if document["dry_run"] and process is not None and not as_json:
        say("\n".join(_report(package, process, document).lines()))
        return exit_code_of(document)
    return await say_documents(using.runs, [document], as_json=as_json)


async def _rehearse(
    using: Client, name: str, package: Package, processes: list[Process], given: dict[str, Any]
) -> list[Report]:
    from colleague.cli.output import progress
    from colleague.experts.rehearsal.sample import sample
    from colleague.experts.runs.inputs import REHEARSAL
    from colleague.packages.parameter import object_schema
    from colleague.runtime.requests import RunRequest

    reports = []
    with progress(f"Rehearsing {name}") as tell:
        for process in processes:
            tell(f"Rehearsing {process.name}")
            inputs = sample(object_schema(process.inputs)) | given
            asked = RunRequest(name, "", process.name, inputs, REHEARSAL, dry_run=True)
            accepted = await using.runs.start(asked)
            [document] = await using.follow([str(accepted.run_id)], quiet=True)
            reports.append(_report(package, process, document))
    return reports


def _report(package: Package, process: Process, document: RunDocument) -> Report:
    from colleague.experts.rehearsal.execution_report import execution_report

    return execution_report(package, process, document)
