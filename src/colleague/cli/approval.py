"""colleague approval, approve, reject, respond, done, not-done, resolve: what people decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption
from colleague.cli.shell_completion import complete_approval

if TYPE_CHECKING:
    from colleague.run_document import ApprovalDocument, Decision
    from colleague.store.paging import Page
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Questions that wait for a person, and how they were decided.")

IdArguments = Annotated[
    list[str],
    typer.Argument(metavar="ID...", help="Endings of approval ids.", autocompletion=complete_approval),
]
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The ending of an approval id.", autocompletion=complete_approval)
]
AnyIdArguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ID...]",
        help="Endings of approval ids. Without one: all that waits, one by one.",
        autocompletion=complete_approval,
    ),
]
NoteOption = Annotated[str, typer.Option("--note", help="Why; the agent is told.")]


@app.command()
def link(
    approval: IdArgument,
    person: Annotated[str, typer.Option("--for", help="In whose name it is decided.")],
    expires: Annotated[str, typer.Option("--expires", help="How long the link counts, such as 2h.")] = "24h",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """A link that decides one question, once, for somebody who is not signed in."""
    from colleague.cli.client import with_client
    from colleague.cli.link_text import show_link
    from colleague.duration import parse_positive_duration
    from colleague.errors import UsageError

    try:
        lasts = parse_positive_duration(expires).milliseconds
    except ValueError as error:
        raise UsageError(f"--expires: {error}", hint="write a time such as 2h") from None
    made = with_client(home, lambda using: using.service.approval_link(approval, person, lasts))
    show_link(made["path"], f"{person} decides with it once, within {expires}", home, as_json)


@app.command("list")
def list_(
    every: Annotated[bool, typer.Option("--all", help="Also the decided ones.")] = False,
    limit: LimitOption = 200,
    after: AfterOption = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The questions that wait for a person, the oldest first; with --all the newest first."""
    from colleague.cli.approval_view import summary
    from colleague.cli.output import plain, say, say_json, say_table
    from colleague.cli.pages import note_more
    from colleague.cli.times import moment
    from colleague.run_document import short

    page, total = listed(home, every=every, learnings=None if every else False, limit=limit, after=after)
    found = page.items
    if as_json:
        say_json(found)
    elif found:
        rows = [
            (
                short(a["id"]),
                a["kind"],
                a["expert"],
                a["operation"],
                plain(summary(a["arguments"])),
                a["decision"] or a["status"],
                moment(a["requested_at"]),
            )
            for a in found
        ]
        say_table(("ID", "KIND", "EXPERT", "OPERATION", "WHAT", "STATUS", "ASKED"), rows)
    elif not after:
        say("Nobody is being waited for.")
    note_more(page, total, "colleague approval list" + (" --all" if every else ""))


def listed(
    home: Path | None, *, every: bool, learnings: bool | None, limit: int, after: str
) -> tuple[Page[ApprovalDocument], int]:
    """The questions as documents: the pending ones, or all; and how many there are."""
    from colleague.cli.client import opened, with_database
    from colleague.cli.pages import page_reader
    from colleague.experts.runs.redacted_report import approval_report
    from colleague.store.approvals import approvals_page, count_approvals
    from colleague.store.paging import Page
    from colleague.store.tables import approvals

    place, _ = opened(home)

    def read(tx: Tx, start: str | None) -> Page[ApprovalDocument]:
        page = approvals_page(tx, every=every, learnings=learnings, limit=limit, after=start)
        return Page([approval_report(tx, place, each) for each in page.items], page.next_after)

    def count(tx: Tx) -> int:
        return count_approvals(tx, every=every, learnings=learnings)

    work = page_reader(approvals, "approval", after, read, count)
    return with_database(home, lambda database: database.read(work))


@app.command()
def show(approval: IdArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """One question: what would run, why, and how it was decided."""
    from colleague.cli.approval_view import question_lines
    from colleague.cli.client import with_client
    from colleague.cli.output import say, say_json

    document = with_client(home, lambda using: using.service.approval(approval), looks=True)
    if as_json:
        say_json(document)
        return
    for line in question_lines(document):
        say(line)


def approve(
    approvals: AnyIdArguments = None,
    note: NoteOption = "",
    arguments: Annotated[
        str, typer.Option("--arguments", metavar="JSON", help="Run it with these instead.")
    ] = "",
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Change one argument. Can be repeated."),
    ] = None,
    edit: Annotated[
        bool, typer.Option("--edit", help="Change the arguments in your editor ($EDITOR).")
    ] = False,
    grant: Annotated[
        str,
        typer.Option("--grant", metavar="run|30m|...", help="Do not ask again: for this run, or for a time."),
    ] = "",
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="ARGUMENT",
            help="The grant counts only while this argument stays what it is here. Can be repeated.",
        ),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say yes, and continue the run. Without an ID, go through everything that waits, one by one."""
    from colleague.cli.decide import Edits, decide_all, decide_each

    if not approvals:
        decide_each(home, as_json=as_json)
        return
    edits = Edits(tuple(setting or ()), edit)
    edits.require_one(approvals, arguments)
    decide_all(
        home,
        approvals,
        "approve",
        reason=note,
        answer=_json_text(arguments),
        grant=grant,
        only=tuple(only or ()),
        edits=edits,
        as_json=as_json,
    )


def reject(
    approvals: IdArguments, note: NoteOption = "", home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Say no: the step has failed."""
    from colleague.cli.decide import decide_all

    decide_all(home, approvals, "reject", reason=note, as_json=as_json)


def respond(
    approval: IdArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the agent is told in the tool's place.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer in the tool's place; the agent goes on."""
    import json

    from colleague.cli.decide import decide_all

    decide_all(home, [approval], "respond", answer=json.dumps(text, ensure_ascii=False), as_json=as_json)


def done(
    approval: IdArgument,
    result: Annotated[str, typer.Option("--result", metavar="JSON", help="What came of it.")] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """You have done what a draft proposes."""
    from colleague.cli.decide import decide_all

    decide_all(home, [approval], "done", answer=_json_text(result), as_json=as_json)


def not_done(approval: IdArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """You will not do what a draft proposes."""
    from colleague.cli.decide import decide_all

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
    from colleague.cli.decide import decide_all
    from colleague.errors import UsageError

    decisions: dict[str, Decision] = {"happened": "happened", "again": "again", "give-up": "give_up"}
    if what not in decisions:
        raise UsageError(f"{what!r} is none of happened, again, give-up")
    decide_all(home, [approval], decisions[what], answer=_json_text(result), as_json=as_json)


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
