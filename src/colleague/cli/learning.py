"""colleague learning: what experts propose to remember."""

from __future__ import annotations

from typing import Annotated

import typer

from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption
from colleague.cli.shell_completion import complete_learning

app = typer.Typer(no_args_is_help=True, help="Learnings that experts propose, and what becomes of them.")

IdArguments = Annotated[
    list[str],
    typer.Argument(metavar="ID...", help="Endings of proposal ids.", autocompletion=complete_learning),
]


LEARNED = ("scope", "title", "observation", "correction", "confidence", "source")
STATUSES = {"pending": "waits for you", "approve": "approved", "reject": "rejected"}


@app.command("list")
def list_(
    every: Annotated[bool, typer.Option("--all", help="Also the decided ones.")] = False,
    limit: LimitOption = 200,
    after: AfterOption = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The learnings that wait for a decision."""
    from colleague.cli.approval import listed
    from colleague.cli.output import say, say_json, say_table
    from colleague.cli.pages import note_more
    from colleague.run_document import short

    page, total = listed(home, every=every, learnings=True, limit=limit, after=after)
    documents = page.items
    if as_json:
        say_json(documents)
    elif documents:
        rows = [
            (
                short(d["id"]),
                d["expert"],
                d["arguments"]["scope"],
                d["arguments"]["title"],
                STATUSES.get(d["decision"], d["status"]) if d["decision"] else d["status"],
            )
            for d in documents
        ]
        say_table(("ID", "EXPERT", "ABOUT", "TITLE", "STATUS"), rows)
    elif not after:
        say("No learning waits for a decision.")
    note_more(page, total, "colleague learning list" + (" --all" if every else ""))


@app.command()
def show(
    proposal: Annotated[
        str,
        typer.Argument(metavar="ID", help="Ending of a proposal's id.", autocompletion=complete_learning),
    ],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """One proposal: what was seen, what is to be done differently, and what became of it."""
    from colleague.cli.client import with_client
    from colleague.cli.output import plain, say, say_hint, say_json
    from colleague.cli.times import moment
    from colleague.errors import NotFound
    from colleague.run_document import short

    try:
        document = with_client(home, lambda using: using.service.approval(proposal), looks=True)
    except NotFound:
        hint = "see them with: colleague learning list --all"
        raise NotFound(f"there is no learning {proposal!r}", hint=hint) from None
    if document["kind"] != "learning":
        raise NotFound(
            f"{proposal} is no learning", hint=f"look at it with: colleague approval show {proposal}"
        )
    if as_json:
        say_json(document)
        return
    learned = {key: document["arguments"].get(key) for key in LEARNED}
    fields = {"id": document["id"], "expert": document["expert"], "run": document["run_id"], **learned}
    ended = {
        "asked": moment(document["requested_at"]),
        "status": STATUSES.get(document["decision"] or document["status"], document["status"]),
        "by": document["decided_by"],
        "decided": moment(document["decided_at"]),
        "note": document["note"],
    }
    for key, value in (fields | ended).items():
        if value not in (None, ""):
            say(f"{key:13} {plain(str(value))}")
    if document["status"] == "pending":
        ending = short(document["id"])
        say_hint(f"Next: colleague learning approve {ending}, or colleague learning reject {ending}")


@app.command()
def approve(proposals: IdArguments, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Have it written down; later runs are told."""
    from colleague.cli.decide import decide_all

    decide_all(home, proposals, "approve", as_json=as_json)


@app.command()
def reject(
    proposals: IdArguments,
    note: Annotated[str, typer.Option("--note", help="Why.")] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Do not learn this."""
    from colleague.cli.decide import decide_all

    decide_all(home, proposals, "reject", reason=note, as_json=as_json)
