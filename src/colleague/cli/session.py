"""colleague session: conversations, what was said in them, what is set for them, and their trajectories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption

if TYPE_CHECKING:
    from colleague.cli.client import Client
    from colleague.runtime.requests import SentMessage
    from colleague.session_document import SessionDocument
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Sessions: what was said, what is set, and trajectories.")

_AGENT = "agent:main:"
SessionArgument = Annotated[str, typer.Argument(metavar="KEY|LABEL", help="A session, by its key or label.")]
ArchiveOption = Annotated[
    str,
    typer.Option("--archive", metavar="ID", help="What was said before a reset; session show lists them."),
]


@app.command("list")
def list_(
    limit: LimitOption = 200, after: AfterOption = "", home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Every session, the one that was last at work first."""
    from colleague.cli.client import with_client
    from colleague.cli.output import say, say_json, say_table
    from colleague.cli.session_view import ROW, session_row

    found = with_client(
        home, lambda using: using.service.sessions(limit=limit, after=after or None), looks=True
    )
    if as_json:
        say_json(found)
    elif found:
        say_table(ROW, [session_row(each) for each in found])
    else:
        say("There are no sessions.")


@app.command()
def show(
    session: SessionArgument = "main",
    archive: ArchiveOption = "",
    limit: LimitOption = 200,
    after: Annotated[int, typer.Option("--after", min=0, help="Go on after this position.")] = 0,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """A session and what was said in it, the oldest first."""
    from colleague.cli.client import with_client
    from colleague.cli.output import say, say_json
    from colleague.cli.session_view import session_lines

    async def look(using: Client) -> dict[str, Any]:
        entry = await using.service.session(session)
        said = await using.service.items(session, after=after, limit=limit, archive=archive or None)
        return {**entry, "messages": said, "archives": await using.service.archives(session)}

    found = with_client(home, look, looks=True)
    if as_json:
        say_json(found)
    else:
        say("\n".join(session_lines(found)))


@app.command()
def send(
    session: SessionArgument,
    message: Annotated[str, typer.Argument(metavar="MESSAGE|-", help="What to say; - reads it from stdin.")],
    model: Annotated[str, typer.Option("--model", help="Use this model, as provider/model.")] = "",
    queue_mode: Annotated[
        str, typer.Option("--queue-mode", metavar="MODE", help="If a turn is at work: for this message only.")
    ] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say something to a session without waiting for the answer (colleague agent waits for it)."""
    import sys
    from dataclasses import asdict

    from colleague.cli.client import with_client
    from colleague.cli.output import say_json
    from colleague.runtime.requests import MessageRequest

    text = sys.stdin.read() if message == "-" else message
    request = MessageRequest(text, model=model, queue_mode=queue_mode or None)
    sent = with_client(home, lambda using: using.runs.send(session, request))
    if as_json:
        say_json(asdict(sent))
    else:
        _say_sent(home, sent)
    if sent.queued in ("denied", "dropped"):
        raise typer.Exit(1)


def _say_sent(home: Path | None, sent: SentMessage) -> None:
    from colleague.cli.abandoned import abandoned_lines
    from colleague.cli.output import CROSS, TICK, note, say_hint
    from colleague.run_document import short

    ending = short(sent.event_id)
    if sent.queued in ("denied", "dropped"):
        note(f"{CROSS} {sent.queued}: colleague event show {ending} says why")
        return
    look = f"watch: colleague run watch {short(sent.run_id)}" if sent.run_id else "it waits for its turn"
    left = abandoned_lines(home, [{"id": sent.run_id, "status": "queued"}] if sent.run_id else [])
    did = "stored" if left else sent.queued
    say_hint(f"{TICK} {did} in {sent.session_key}, event {ending}; {left[0] if left else look}")


@app.command()
def reset(session: SessionArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Begin anew; what was said stays as an archive and can be searched."""
    import getpass

    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say, say_json

    who = getpass.getuser()
    found = with_client(home, lambda using: using.service.reset_session(session, who))
    if as_json:
        say_json(found)
    else:
        say(f"{TICK} {found['key']} begins anew; session show lists what was before under archives")


@app.command()
def stop(session: SessionArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """End the turn at work, and what waits behind it."""
    import getpass

    from colleague.cli.client import with_client
    from colleague.cli.output import say, say_json
    from colleague.session_text import stopped_text

    who = getpass.getuser()
    found = with_client(home, lambda using: using.service.stop_session(session, who))
    if as_json:
        say_json(found)
    else:
        say(stopped_text(found))


@app.command()
def compact(
    session: SessionArgument = "main",
    instructions: Annotated[
        str, typer.Argument(metavar="[WHAT MUST STAY]", help="What the summary must keep.")
    ] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Shorten what the model sees of a session: a summary stands for its beginning. Nothing is deleted."""
    from colleague.cli.agent import follow_turn
    from colleague.cli.client import with_client
    from colleague.cli.run_view import end_with

    async def shorten(using: Client) -> int:
        sent = await using.service.compact_session(session, instructions)
        return await follow_turn(using, sent, as_json=as_json)

    end_with(with_client(home, shorten))


@app.command()
def context(session: SessionArgument = "main", home: HomeOption = None, as_json: JsonOption = False) -> None:
    """What the model was last shown of a session, and how much of it."""
    from colleague.cli.client import with_client
    from colleague.cli.output import say, say_json
    from colleague.cli.session_view import context_lines

    found = with_client(home, lambda using: using.service.session(session), looks=True)
    if as_json:
        say_json(found["context"])
    else:
        say("\n".join(context_lines(found)))


@app.command("set")
def set_(
    session: SessionArgument,
    label: Annotated[str | None, typer.Option("--label", help="Another name for the session.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Its model, as provider/model.")] = None,
    thinking: Annotated[str | None, typer.Option("--thinking", help="How long the model may think.")] = None,
    reasoning: Annotated[str | None, typer.Option("--reasoning", help="off, on or stream.")] = None,
    verbose: Annotated[str | None, typer.Option("--verbose", help="off, on or full.")] = None,
    send_policy: Annotated[str | None, typer.Option("--send-policy", help="allow or deny.")] = None,
    queue_mode: Annotated[
        str | None, typer.Option("--queue-mode", metavar="MODE", help="What a message does during a turn.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set something for one session; an empty value clears it."""
    from colleague.cli.client import with_client
    from colleague.cli.output import say, say_json
    from colleague.errors import UsageError
    from colleague.session_document import CHANGEABLE
    from colleague.session_text import set_lines

    values = (label, model, thinking, reasoning, verbose, send_policy, queue_mode)
    given = {name: value for name, value in zip(CHANGEABLE, values, strict=True) if value is not None}
    if not given:
        raise UsageError("nothing is to be set", hint="such as --label work, or --model '' to clear it")
    changes = {name: value or None for name, value in given.items()}
    found: SessionDocument = with_client(home, lambda using: using.service.change_session(session, changes))
    if as_json:
        say_json(found)
    else:
        say("\n".join(set_lines(found)))


@app.command()
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words that were all said.")],
    session: Annotated[
        str, typer.Option("--session", metavar="KEY|LABEL", help="Only in this session.")
    ] = "",
    limit: LimitOption = 20,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Where something was said, the newest first; also before a reset."""
    from colleague.cli.client import with_client
    from colleague.cli.output import say, say_json
    from colleague.cli.session_view import hit_lines

    found = with_client(
        home, lambda using: using.service.search(text, session=session or None, limit=limit), looks=True
    )
    if as_json:
        say_json(found)
    else:
        say("\n".join(hit_lines(found)) or "Nobody has said that.")


@app.command("export-trajectory")
def export_trajectory(
    session: Annotated[
        str, typer.Argument(metavar="[KEY|LABEL]", help="A key, or a label such as expert:NAME.")
    ] = "",
    named: Annotated[
        str, typer.Option("--session", "--sessionKey", metavar="KEY|LABEL", help="The same, as an option.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option("--output", help="Write to this file instead of stdout.")
    ] = None,
    home: HomeOption = None,
) -> None:
    """A session as JSON lines: runs, messages, calls and approvals, in order."""
    import json

    from colleague.cli.output import note, say
    from colleague.errors import UsageError
    from colleague.files import write_atomic
    from colleague.main_names import MAIN_SESSION

    if session and named and session != named:
        raise UsageError(f"two sessions are named: {session} and {named}", hint="name one of them")
    records = _records(home, session or named or MAIN_SESSION)
    text = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    if output is None:
        say(text)
    else:
        write_atomic(output, text + "\n", mode=0o600)
        note(f"{len(records)} records in {output}")


def _records(home: Path | None, name: str) -> list[dict[str, Any]]:
    """Of the first session that goes by this name. Raises NotFound."""
    from colleague.cli.client import opened, with_database
    from colleague.errors import NotFound
    from colleague.experts.runs.redacted_report import trajectory_report
    from colleague.store.session_entry import key_of_label

    place, _ = opened(home)

    def work(tx: Tx) -> list[dict[str, Any]]:
        keys = _keys(key_of_label(tx, name) or name)
        found = (trajectory_report(tx, place, key) for key in keys)
        return next((records for records in found if records), [])

    records = with_database(home, lambda database: database.read(work))
    if not records:
        raise NotFound(f"there is no session {name!r}", hint="see them with: colleague session list")
    return records


def _keys(name: str) -> tuple[str, ...]:
    """What it may be stored as: `expert:sales` and `agent:main:expert:sales` are one session."""
    return name, name.removeprefix(_AGENT), _AGENT + name
