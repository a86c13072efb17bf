"""A session as lines for people: its entry, what is set for it, and what was said in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from colleague import session_text
from colleague.cli.approval_view import summary
from colleague.cli.output import behind_bar, plain
from colleague.cli.times import moment
from colleague.run_document import short
from colleague.session_document import HitDocument, ItemCall, ItemDocument, SessionDocument, is_stopped
from colleague.session_text import NOT_WHOLE, set_lines, shown_context, status_text
from colleague.silent_answer import shown_answer

ROW = ("SESSION", "LABEL", "STATUS", "LAST")


def session_row(session: SessionDocument) -> tuple[str, ...]:
    return (session["key"], session["label"] or "", status_text(session), moment(session["updated_at"]))


def usage_lines(session: SessionDocument) -> list[str]:
    return session_text.usage_lines(session, moment)


def context_lines(session: SessionDocument) -> list[str]:
    """What the model was last shown, and what the conversation has used."""
    usage = usage_lines(session)
    return [*shown_context(session), *(usage if session["context"] is None else usage[1:])]


def session_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The entry with `messages` and `archives`."""
    session: Any = document
    key, *chosen = set_lines(session)
    yield f"{key}: {status_text(session)}"
    yield from chosen
    yield from usage_lines(session)
    for archive in document["archives"]:
        times = f"{moment(archive['started_at'])} to {moment(archive['ended_at'])}"
        yield f"  archive {short(archive['id'])}: {times}"
    for item in document["messages"]:
        yield ""
        yield from item_lines(item)


def item_lines(item: ItemDocument) -> Iterator[str]:
    """Who said it and when, then the text, as it is, behind a bar."""
    who = {"user": "you", "assistant": "agent"}.get(item["role"], item["role"])
    source = f" ({item['source']})" if item["source"] and item["source"] != "command" else ""
    yield f"{item['position']} {who}{source} {moment(item['at'])}"
    text = shown_answer(item["text"]).text if item["role"] == "assistant" else item["text"]
    if item["role"] == "assistant" and not text and not item["calls"]:
        text = "(no reply)"
    if item["reasoning"]:
        yield from behind_bar(item["reasoning"], bar="~")
    if text:
        yield from behind_bar(text)
    if is_stopped(item):
        yield f"  {NOT_WHOLE}"
    yield from (f"  media: {plain(each)}" for each in media_of(item))
    yield from (f"    {call_text(call)}" for call in item["calls"])


def media_of(item: ItemDocument) -> list[str]:
    """What an answer brought along."""
    attachments = item["attachments"] if isinstance(item["attachments"], dict) else {}
    return [str(each) for each in attachments.get("media", ())]


def call_text(call: ItemCall) -> str:
    """One line for a call, however long its arguments are."""
    return (
        f"{plain(call['operation'])} {plain(summary(call['arguments']))}: {call['status'].replace('_', ' ')}"
    )


def hit_lines(hits: Sequence[HitDocument]) -> Iterator[str]:
    """Two lines for each: where and when, then what."""
    for hit in hits:
        archive = f", archive {short(hit['archive'])}" if hit["archive"] else ""
        where = f"{hit['label'] or hit['session_key']} {hit['position']}"
        yield f"{where} {hit['role']}{archive} {moment(hit['at'])}"
        yield from behind_bar(" ".join(hit["excerpt"].split()))
