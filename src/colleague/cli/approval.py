"""colleague approval, approve, reject, respond, done, not-done, resolve: what people decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home
    from colleague.store.approvals import Approval, Decision
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Questions that wait for a person, and how they were decided.")

IdArguments = Annotated[list[str], typer.Argument(metavar="ID...", help="Endings of approval ids.")]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The ending of an approval id.")]
NoteOption = Annotated[str, typer.Option("--note", help="Why; the agent is told.")]


@app.command("list")
def list_(
    every: Annotated[bool, typer.Option("--all", help="Also the decided ones.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The questions that wait for a person."""
    from colleague.cli.output import say, say_json, say_table
    from colleague.store.ids import short

    found = [each for each in listed(home, every=every) if every or each["kind"] != "learning"]
    if as_json:
        say_json(found)
    elif found:
        rows = [
            (
                short(a["id"]),
                a["kind"],
                a["expert"],
                a["operation"],
                a["decision"] or a["status"],
                a["requested_at"],
            )
            for a in found
        ]
        say_table(("ID", "KIND", "EXPERT", "OPERATION", "STATUS", "ASKED"), rows)
    else:
        say("Nobody is being waited for.")


def listed(home: Path | None, *, every: bool) -> list[dict[str, Any]]:
    """The questions as documents: the pending ones, or all."""
    from colleague.cli.hosting import opened, with_database
    from colleague.experts.reporting import approval_report
    from colleague.store.approvals import recent_approvals

    place, _ = opened(home)

    def work(tx: Tx) -> list[dict[str, Any]]:
        return [approval_report(tx, place, each) for each in recent_approvals(tx, every=every)]

    return with_database(home, lambda database: database.read(work))


@app.command()
def show(approval: IdArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """One question: what would run, why, and how it was decided."""
    import json

    from colleague.cli.hosting import opened, with_database
    from colleague.cli.output import say, say_json
    from colleague.experts.reporting import approval_report

    place, _ = opened(home)
    document = with_database(
        home, lambda database: database.read(lambda tx: approval_report(tx, place, _find(tx, approval)))
    )
    if as_json:
        say_json(document)
        return
    for key, value in document.items():
        if value not in (None, ""):
            say(f"{key:13} {json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value}")


def approve(
    approvals: IdArguments,
    note: NoteOption = "",
    arguments: Annotated[
        str, typer.Option("--arguments", metavar="JSON", help="Run it with these instead.")
    ] = "",
    grant: Annotated[
        str,
        typer.Option("--grant", metavar="run|30m|...", help="Do not ask again: for this run, or for a time."),
    ] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say yes, and continue the run."""
    decide_all(
        home, approvals, "approve", note=note, answer=_json_text(arguments), grant=grant, as_json=as_json
    )


def reject(
    approvals: IdArguments, note: NoteOption = "", home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Say no: the step has failed."""
    decide_all(home, approvals, "reject", note=note, as_json=as_json)


def respond(
    approval: IdArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the agent is told in the tool's place.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer in the tool's place; the agent goes on."""
    import json

    decide_all(home, [approval], "respond", answer=json.dumps(text, ensure_ascii=False), as_json=as_json)


def done(
    approval: IdArgument,
    result: Annotated[str, typer.Option("--result", metavar="JSON", help="What came of it.")] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """You have done what a draft proposes."""
    decide_all(home, [approval], "done", answer=_json_text(result), as_json=as_json)


def not_done(approval: IdArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """You will not do what a draft proposes."""
    decide_all(home, [approval], "not_done", as_json=as_json)


def resolve(
    approval: IdArgument,
    what: Annotated[
        str, typer.Argument(metavar="happened|again|give-up", help="What is true, or to be done.")
    ],
    result: Annotated[str, typer.Option("--result", metavar="JSON", help="What came of it.")] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Settle a call of which nobody knows whether it happened."""
    from colleague.errors import UsageError

    decisions: dict[str, Decision] = {"happened": "happened", "again": "again", "give-up": "give_up"}
    if what not in decisions:
        raise UsageError(f"{what!r} is none of happened, again, give-up")
    decide_all(home, [approval], decisions[what], answer=_json_text(result), as_json=as_json)


def decide_all(
    home: Path | None,
    endings: list[str],
    decision: Decision,
    *,
    note: str = "",
    answer: str | None = None,
    grant: str = "",
    as_json: bool,
) -> None:
    import asyncio

    from colleague.cli.hosting import opened
    from colleague.cli.run_view import end_with

    place, settings = opened(home)
    asyncio.run(_decide_and_go_on(place, settings, endings, decision, note, answer, grant, as_json))
    end_with()


async def _decide_and_go_on(
    home: Home,
    settings: Settings,
    endings: list[str],
    decision: Decision,
    note: str,
    answer: str | None,
    grant: str,
    as_json: bool,
) -> None:
    """Records each decision, then works on the runs it woke until they end or wait again."""
    from colleague.cli.run_view import Watching, experts_steps, say_runs
    from colleague.experts.host import open_host

    async with open_host(home, settings) as host:

        def record_all(tx: Tx) -> list[str]:
            return [_record(tx, ending, decision, note, answer, grant).run_id for ending in endings]

        run_ids = await host.database.write(record_all)
        experts = await experts_steps(host.database, run_ids)
        with Watching(host.bus, quiet=as_json, experts=experts):
            runs = await host.advance_only(list(dict.fromkeys(run_ids)))
        await say_runs(host.database, home, runs, as_json=as_json)


def _record(tx: Tx, ending: str, decision: Decision, note: str, answer: str | None, grant: str) -> Approval:
    import getpass

    from colleague.store.approvals import Answer, decide

    seen = _find(tx, ending)
    who = getpass.getuser()
    if grant:
        _grant(tx, seen, grant, who)
    return decide(tx, Answer(seen.id, seen.digest, decision, who, note, answer))


def _grant(tx: Tx, approval: Approval, lasts: str, who: str) -> None:
    from colleague.errors import UsageError
    from colleague.packages.duration import parse_positive_duration
    from colleague.store.grants import give_grant

    if lasts == "run":
        give_grant(tx, approval.expert, approval.operation, by=who, run_id=approval.run_id)
        return
    try:
        duration = parse_positive_duration(lasts)
    except ValueError as error:
        raise UsageError(f"--grant: {error}", hint="write run, or a time such as 30m") from None
    give_grant(tx, approval.expert, approval.operation, by=who, lasts_ms=duration.seconds * 1000)


def _find(tx: Tx, ending: str) -> Approval:
    from colleague.store.approvals import get_approval
    from colleague.store.lookup import full_id
    from colleague.store.tables import approvals

    return get_approval(tx, full_id(tx, approvals, "approval", ending))


def _json_text(text: str) -> str | None:
    import json

    from colleague.errors import UsageError

    if not text:
        return None
    try:
        json.loads(text)
    except ValueError as error:
        raise UsageError(f"{text[:60]!r} is no JSON: {error}") from None
    return text
