"""colleague audit: what people decided and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption

if TYPE_CHECKING:
    from colleague.audit_document import AuditEntry

MOST = 1_000

app = typer.Typer(no_args_is_help=True, help="What people decided and changed.")


@app.command("list")
def list_(
    text: Annotated[str, typer.Argument(metavar="WORDS", help="Only entries that have these words.")] = "",
    who: Annotated[str, typer.Option("--who", help="Only what this person did.")] = "",
    action: Annotated[
        str, typer.Option("--action", help="Only this, such as approval, or approval.reject.")
    ] = "",
    expert: Annotated[str, typer.Option("--expert", help="Only what concerns this expert.")] = "",
    since: Annotated[str, typer.Option("--since", help="From then on: 2h, 7d, 2026-11-16.")] = "",
    until: Annotated[str, typer.Option("--until", help="Before then.")] = "",
    limit: LimitOption = 50,
    after: AfterOption = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Every decision and every change, the newest first: by whom, from where, what."""
    from colleague.cli.client import with_client
    from colleague.cli.output import note, say, say_json, say_table
    from colleague.run_document import short
    from colleague.runtime.requests import AuditQuery

    asked = AuditQuery(who, action, expert, text, since, until, min(limit, MOST), after)
    found = with_client(home, lambda using: using.service.audit(asked), looks=True)
    if as_json:
        say_json(found["entries"])
    elif found["entries"]:
        say_table(("WHEN", "WHO", "FROM", "ACTION", "SUBJECT", "EXPERT"), map(_row, found["entries"]))
    else:
        say("There are no such entries.")
    if found["next_after"]:
        note(f"This is not all. Go on with: colleague audit list --after {short(found['next_after'])}")


def _row(entry: AuditEntry) -> tuple[str, ...]:
    from colleague.cli.output import plain
    from colleague.cli.times import moment

    where = f"{entry['source']} {entry['address']}".strip()
    told = (entry["who"], where, entry["action"], entry["subject"], entry["expert"])
    return (moment(entry["at"]), *(plain(each) for each in told))
