"""All sessions as a tree: the main agent first, what a session spawned below it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from colleague.main_names import MAIN_AGENT
from colleague.run_document import short
from colleague.session_key import BadSessionKey, SessionKey
from colleague.store.session_entry import SessionEntry, sessions_page
from colleague.store.session_work import question_counts, working_sessions
from colleague.store.tx import Tx

MOST_SESSIONS = 200


@dataclass(frozen=True)
class SessionNode:
    """One session in the list, with those that it spawned."""

    key: str
    name: str
    status: str
    questions: int
    children: Sequence[SessionNode] = ()

    @property
    def href(self) -> str:
        return session_path(self.key)


def session_path(key: str) -> str:
    """Where a session stands on the page."""
    return f"/chat/session/{quote(key, safe=':')}"


def session_tree(tx: Tx) -> list[SessionNode]:
    """The last ones that were at work, each main session before all others."""
    entries = sessions_page(tx, limit=MOST_SESSIONS).items
    known = {each.key for each in entries}
    below: dict[str | None, list[SessionEntry]] = {}
    for each in entries:
        below.setdefault(each.spawned_by if each.spawned_by in known else None, []).append(each)
    top = sorted(below.get(None, ()), key=lambda each: _rank(each.key))
    return list(_nodes(top, below, working_sessions(tx), question_counts(tx)))


def _nodes(
    entries: Iterable[SessionEntry],
    below: Mapping[str | None, list[SessionEntry]],
    work: Mapping[str, str],
    asked: Mapping[str, int],
) -> Iterable[SessionNode]:
    for each in entries:
        children = tuple(_nodes(below.get(each.key, ()), below, work, asked))
        status, questions = work.get(each.key, "idle"), asked.get(each.key, 0)
        yield SessionNode(each.key, session_name(each.key, each.label), status, questions, children)


def _rank(key: str) -> int:
    if key == str(SessionKey.for_main()):
        return 0
    return 1 if key.endswith(":main") else 2


def session_name(key: str, label: str | None) -> str:
    """What people call it: its label, else what its key says."""
    if label:
        return label
    try:
        parsed = SessionKey.parse(key)
    except BadSessionKey:
        return key
    if parsed.is_main:
        return "Main agent" if parsed.agent_id == MAIN_AGENT else f"Agent {parsed.agent_id}"
    if parsed.is_subagent or parsed.is_acp:
        return f"Sub-agent {short(parsed.child_id or '')}"
    if parsed.expert:
        return " · ".join(filter(None, (parsed.expert, parsed.process, short(parsed.run_id or ""))))
    return " · ".join(filter(None, (parsed.channel, parsed.peer_id, parsed.thread_id)))
