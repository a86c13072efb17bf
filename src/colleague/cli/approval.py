"""colleague approval, approve, reject, respond, done, not-done, resolve: what people decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.completion import complete_approval
from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption

if TYPE_CHECKING:
    from colleague.cli.client import Client
    from colleague.run_document import ApprovalDocument, Decision, RunDocument
    from colleague.runtime.requests import DecisionAnswer, DecisionRequest
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
UNREACHABLE = 3
PAST = {
    "approve": "approved",
    "reject": "rejected",
    "respond": "answered",
    "done": "done",
    "not_done": "declined",
}
NoteOption = Annotated[str, typer.Option("--note", help="Why; the agent is told.")]


@app.command("list")
def list_(
    every: Annotated[bool, typer.Option("--all", help="Also the decided ones.")] = False,
    limit: LimitOption = 200,
    after: AfterOption = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The questions that wait for a person, the oldest first; with --all the newest first."""
    from colleague.cli.output import say, say_json, say_table
    from colleague.cli.pages import note_more
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
                a["decision"] or a["status"],
                a["requested_at"] or "",
            )
            for a in found
        ]
        say_table(("ID", "KIND", "EXPERT", "OPERATION", "STATUS", "ASKED"), rows)
    elif not after:
        say("Nobody is being waited for.")
    note_more(page, total, "colleague approval list" + (" --all" if every else ""))


def listed(
    home: Path | None, *, every: bool, learnings: bool | None, limit: int, after: str
) -> tuple[Page[ApprovalDocument], int]:
    """The questions as documents: the pending ones, or all; and how many there are."""
    from colleague.cli.client import opened, with_database
    from colleague.cli.pages import page_reader
    from colleague.experts.runs.report import approval_report
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
    import json

    from colleague.cli.client import with_client
    from colleague.cli.output import plain, say, say_json

    document = with_client(home, lambda using: using.service.approval(approval), looks=True)
    if as_json:
        say_json(document)
        return
    for key, value in document.items():
        if value not in (None, ""):
            shown = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
            say(f"{key:13} {plain(shown)}")


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
    """Say yes, and continue the run."""
    decide_all(
        home,
        approvals,
        "approve",
        note=note,
        answer=_json_text(arguments),
        grant=grant,
        only=tuple(only or ()),
        as_json=as_json,
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
    only: tuple[str, ...] = (),
    as_json: bool,
) -> None:
    import getpass

    from colleague.cli.client import with_client
    from colleague.cli.run_view import end_with
    from colleague.errors import UsageError
    from colleague.runtime.requests import DecisionRequest

    lasts = _grant_ms(grant) if grant else None
    if only and not grant:
        raise UsageError("--only limits a grant, and none is given", hint="say for how long: --grant 30m")
    who = getpass.getuser()
    requests = [DecisionRequest(ending, decision, who, "", note, answer, lasts, only) for ending in endings]
    end_with(with_client(home, lambda using: _decide(using, requests, as_json)))


async def _decide(using: Client, requests: list[DecisionRequest], as_json: bool) -> int:
    """Each is answered in a line of its own; the runs that were decided about are followed."""
    from colleague.cli.run_view import say_documents
    from colleague.runtime.requests import decided_runs

    seen = await _seen(using, requests)
    answers = await using.service.decide([_with_digest(each, seen) for each in requests])
    for answer in answers:
        _say_answer(answer)
    before = [document for _, document in seen.values()]
    documents = await using.follow(decided_runs(answers), quiet=as_json, before=before)
    code = await say_documents(using.service, documents, as_json=as_json)
    return 1 if any(answer.refusal for answer in answers) else code


async def _seen(
    using: Client, requests: list[DecisionRequest]
) -> dict[str, tuple[ApprovalDocument, RunDocument]]:
    """What is decided about, as it is now; what cannot be found is left for the decision to say."""
    from colleague.errors import ColleagueError

    found = {}
    for request in requests:
        try:
            approval = await using.service.approval(request.approval)
            found[request.approval] = approval, await using.service.run(approval["run_id"])
        except ColleagueError as error:
            if error.exit_code == UNREACHABLE:
                raise
    return found


def _with_digest(
    request: DecisionRequest, seen: dict[str, tuple[ApprovalDocument, RunDocument]]
) -> DecisionRequest:
    from dataclasses import replace

    found = seen.get(request.approval)
    return replace(request, digest=found[0]["digest"]) if found else request


def _say_answer(answer: DecisionAnswer) -> None:
    from colleague.cli.output import CROSS, TICK, note, plain
    from colleague.run_document import short

    if answer.refusal is not None:
        hint = f" ({answer.refusal.hint})" if answer.refusal.hint else ""
        note(f"{CROSS} {short(answer.asked)}: {answer.refusal.message}{hint}")
    elif answer.approval is not None:
        word = PAST.get(answer.approval["decision"] or "", "settled")
        note(f"{TICK} {short(answer.approval['id'])}: {answer.approval['operation']} is {word}")
    if answer.grant is not None:
        note(f"  grant {short(answer.grant.id)}: {plain(answer.grant.covers)}")


def _grant_ms(lasts: str) -> int:
    """0 is for this run."""
    from colleague.duration import parse_positive_duration
    from colleague.errors import UsageError

    if lasts == "run":
        return 0
    try:
        return parse_positive_duration(lasts).seconds * 1000
    except ValueError as error:
        raise UsageError(f"--grant: {error}", hint="write run, or a time such as 30m") from None


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
