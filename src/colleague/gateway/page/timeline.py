"""A run as what happened in it, one thing after another; what other sessions did for it is folded in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from colleague.clock import iso
from colleague.gateway.page.fields import as_json
from colleague.main_names import MAIN_TRANSCRIPT
from colleague.run_document import ApprovalDocument, RunDocument, short

ON_A_PAGE = 100
FOLDED_IN = 50
"""So many entries of another session stand below its own; the rest is behind its link."""

_WITHIN_A_SECOND = {"event": 0, "attempt": 0, "end": 2, "delivery": 3}


@dataclass(frozen=True)
class TimelineEntry:
    """One thing that happened in a run. `data` is what stands below it, one click away.

    `session` is where it happened; `inside` is what another session did for it, or another run."""

    at: str | None
    what: str
    text: str
    state: str = ""
    data: Any = None
    took: str = ""
    session: str = MAIN_TRANSCRIPT
    link: str = ""
    inside: tuple[TimelineEntry, ...] = ()

    @property
    def first_inside(self) -> tuple[TimelineEntry, ...]:
        return self.inside[:FOLDED_IN]


@dataclass(frozen=True)
class TimelinePage:
    """Some entries next to each other, and how many there are. `link` is what its addresses begin with."""

    entries: Sequence[TimelineEntry]
    first: int
    total: int
    link: str
    session: str = ""

    @property
    def before(self) -> int:
        return self.first

    @property
    def after(self) -> int:
        return self.total - self.first - len(self.entries)

    @property
    def earlier(self) -> str:
        return self._at(self.first)

    @property
    def later(self) -> str:
        return self._at(min(self.total, self.first + len(self.entries) + ON_A_PAGE))

    def _at(self, end: int) -> str:
        chosen = {"session": self.session} if self.session else {}
        return f"{self.link}?{urlencode({**chosen, 'to': end})}"


@dataclass(frozen=True)
class RunFamily:
    """A run with its questions, and the runs that it handed work to."""

    run: RunDocument
    asked: Sequence[ApprovalDocument]
    children: Sequence[RunFamily] = ()


def timeline_page(family: RunFamily, session: str = "", to: int | None = None) -> TimelinePage:
    """The entries up to number `to`, else the last ones: how it stands is what people look for."""
    found = timeline(family) if not session else _session_entries(family, session)
    end = len(found) if to is None else max(1, min(to, len(found)))
    first = max(0, end - ON_A_PAGE)
    link = f"/runs/{family.run['id']}"
    return TimelinePage(found[first:end], first, len(found), link, session)


def _session_entries(family: RunFamily, session: str) -> list[TimelineEntry]:
    return _in_order([each for each in _entries(family) if each.session == session])


def timeline(family: RunFamily) -> list[TimelineEntry]:
    """Everything in the order in which it began; what has no time yet comes last."""
    return _in_order(_folded(_entries(family), f"/runs/{family.run['id']}"))


def _entries(family: RunFamily) -> list[TimelineEntry]:
    run = family.run
    found = [TimelineEntry(run["created_at"], "event", "accepted", data=run["inputs"])]
    found += _attempts(run) + _model_requests(run) + _calls(run) + _questions(family.asked) + _messages(run)
    found += [_child(each) for each in family.children]
    if run["ended_at"]:
        found.append(TimelineEntry(run["ended_at"], "end", run["outcome"] or "done", data=run["error"]))
    return found


def _in_order(entries: Sequence[TimelineEntry]) -> list[TimelineEntry]:
    return sorted(entries, key=_place)


def _place(entry: TimelineEntry) -> tuple[bool, str, int, str]:
    """Some times are whole seconds: within one, a beginning is first and an end last."""
    at = entry.at or ""
    return entry.at is None, at[:19], _WITHIN_A_SECOND.get(entry.what, 1), at


def _folded(entries: Sequence[TimelineEntry], link: str) -> list[TimelineEntry]:
    """Each session within the run becomes one entry that holds what happened there."""
    own = [each for each in entries if each.session == MAIN_TRANSCRIPT]
    for session in dict.fromkeys(each.session for each in entries if each.session != MAIN_TRANSCRIPT):
        inside = _in_order([each for each in entries if each.session == session])
        counted = f"{len(inside)} {'thing' if len(inside) == 1 else 'things'}"
        there = f"{link}?{urlencode({'session': session})}"
        own.append(
            TimelineEntry(inside[0].at, "session", session, took=counted, link=there, inside=tuple(inside))
        )
    return own


def _child(family: RunFamily) -> TimelineEntry:
    run = family.run
    what = " · ".join(filter(None, (run["expert"], run["process"], f"run {short(run['id'])}")))
    return TimelineEntry(
        run["created_at"],
        "handed over",
        what,
        run["outcome"] or run["status"],
        link=f"/runs/{run['id']}",
        inside=tuple(timeline(family)),
    )


def _attempts(run: RunDocument) -> list[TimelineEntry]:
    return [
        TimelineEntry(
            each["started_at"], "attempt", f"no. {each['number']}", each["outcome"] or "", each["error"]
        )
        for each in run["attempts"]
    ]


def _calls(run: RunDocument) -> list[TimelineEntry]:
    return [
        TimelineEntry(
            each["started_at"],
            "call",
            each["operation"],
            "failed" if each["is_error"] else each["status"],
            {"arguments": each["arguments"], "result": each["result"]},
            took(each["started_at"], each["ended_at"]),
            each["session"],
        )
        for each in run["calls"]
        if not each["taken_from"]
    ]


def _model_requests(run: RunDocument) -> list[TimelineEntry]:
    return [
        TimelineEntry(
            _began(each["at"], each["seconds"]),
            "model",
            _usage(each),
            "" if each["outcome"] == "answered" else each["outcome"],
            each["error"],
            seconds_text(each["seconds"]),
            each["session"],
        )
        for each in run["model_requests"]
    ]


def _began(ended: str | None, seconds: float) -> str | None:
    if ended is None:
        return None
    return (datetime.fromisoformat(ended) - timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def _usage(request: Mapping[str, Any]) -> str:
    tokens = f"{request['input_tokens'] or 0} tokens in, {request['output_tokens'] or 0} out"
    money = f", ${request['cost']:.4f}" if request["cost"] else ""
    return f"{request['model']}, {tokens}{money}"


def _questions(asked: Sequence[ApprovalDocument]) -> list[TimelineEntry]:
    found = []
    for each in asked:
        link = f"/inbox/{each['id']}"
        asked_at = _exact(each["requested_at"], each["id"])
        question = TimelineEntry(asked_at, "question", each["operation"], each["status"], link=link)
        found.append(question)
        if each["decided_at"]:
            text = f"{each['decision']} by {each['decided_by']}"
            found.append(
                replace(
                    question,
                    at=each["decided_at"],
                    what="decision",
                    text=text,
                    state="",
                    data=each["note"],
                    link="",
                )
            )
    return found


def _messages(run: RunDocument) -> list[TimelineEntry]:
    told = [*([run["delivery"]] if run["delivery"] else []), *run["notices"]]
    return [
        TimelineEntry(
            each["at"], "delivery", f"{each['kind']} to {each['channel']}", each["status"], each["body"]
        )
        for each in told
    ]


def took(began: str | None, ended: str | None) -> str:
    if not began or not ended:
        return ""
    return seconds_text((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds())


def seconds_text(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _exact(at: str | None, id: str) -> str | None:  # noqa: A002
    """With the milliseconds that the id was made at, where it was made in the same second."""
    made = iso(int(id[:8] + id[9:13], 16), "milliseconds")
    return made if at and made and made[:19] == at[:19] else at


def entry_text(data: Any) -> str:
    """What stands below an entry: of a call what was asked and what came back, as they are."""
    if isinstance(data, str):
        return data
    if isinstance(data, dict) and data.keys() == {"arguments", "result"}:
        result = data["result"]
        text = result.get("text") if isinstance(result, dict) else result
        return f"{as_json(data['arguments'])}\n\n{_readable(text)}".strip()
    return as_json(data)


def _readable(text: Any) -> str:
    if text is None:
        return ""
    if not isinstance(text, str):
        return as_json(text)
    try:
        return as_json(json.loads(text)) if text[:1] in "{[" else text
    except (ValueError, RecursionError):
        return text
