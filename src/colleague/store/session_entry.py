"""A session as it is stored: which transcript is in use, what a person set for it, what it has used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from colleague.errors import ColleagueError, NotFound
from colleague.store.ids import new_id
from colleague.store.paging import Order, Page
from colleague.store.record import columns_of, record
from colleague.store.spend import Spent
from colleague.store.sql import bindparam, func, or_, select, update
from colleague.store.tables import archives, is_open, runs, sessions
from colleague.store.tx import Tx

QueueMode = Literal["steer", "followup", "collect", "steer-backlog", "queue", "interrupt"]


class LabelTaken(ColleagueError):
    """Another session has this label."""

    code = "label-taken"


@dataclass(frozen=True)
class SessionEntry:
    """One row of `sessions`. `id` names the transcript in use; a reset begins another."""

    key: str
    id: str
    agent_id: str
    label: str | None
    channel: str | None
    chat_type: str | None
    group_id: str | None
    origin: str | None
    spawned_by: str | None
    spawn_depth: int
    provider_override: str | None
    model_override: str | None
    auth_profile_override: str | None
    auth_profile_override_source: str | None
    thinking_level: str | None
    verbose_level: str | None
    reasoning_level: str | None
    send_policy: str | None
    queue_mode: QueueMode | None
    input_tokens: int
    output_tokens: int
    compaction_count: int
    skills_snapshot: str | None
    system_prompt_report: str | None
    context_report: str | None
    """JSON: what the model was last shown, in tokens of each part."""
    positions: int
    """How many items there are, over all transcripts."""
    started_at: int
    """When the transcript in use began."""
    created_at: int
    updated_at: int
    hidden: bool
    """Whether it belongs to one request alone: it is in no list and in no search."""

    @property
    def chosen_model(self) -> str:
        """What a person chose for this session; empty when it is the default."""
        if not self.model_override:
            return ""
        return "/".join(filter(None, (self.provider_override, self.model_override)))


@dataclass(frozen=True)
class Archive:
    """A transcript that a reset has ended."""

    id: str
    session_key: str
    started_at: int
    ended_at: int
    ended_by: str


def find_session(tx: Tx, key: str) -> SessionEntry | None:
    found = tx.find(SessionEntry, sessions, {"key": key})
    return found[0] if found else None


def get_session(tx: Tx, key: str) -> SessionEntry:
    found = find_session(tx, key)
    if found is None:
        raise NotFound(f"there is no session {key!r}", hint="see them with: colleague session list")
    return found


def open_session(tx: Tx, key: str, agent_id: str, **known: Any) -> SessionEntry:
    """The session with this key; made when there is none. Call it with the session's lane locked."""
    found = find_session(tx, key)
    if found is not None:
        return found
    times = {"started_at": tx.now, "created_at": tx.now, "updated_at": tx.now}
    tx.insert_once(sessions, key=key, id=new_id(), agent_id=agent_id, **known, **times)
    made = get_session(tx, key)
    _tell_begun(tx, key, made.id)
    return made


def _tell_begun(tx: Tx, key: str, transcript: str) -> None:
    if tx.is_observed:
        from colleague.hooks.events import SessionStart

        tx.tell_observers(SessionStart(key, transcript))


def _tell_ended(tx: Tx, key: str, transcript: str, by: str) -> None:
    if tx.is_observed:
        from colleague.hooks.events import SessionEnd

        tx.tell_observers(SessionEnd(key, transcript, by))


def key_of_label(tx: Tx, label: str) -> str | None:
    row = tx.one(select(sessions.c.key).where(sessions.c.label == label))
    return str(row.key) if row else None


def change_session(tx: Tx, key: str, **values: Any) -> SessionEntry:
    """Sets or clears (None) what a person may set. Raises LabelTaken."""
    label = values.get("label")
    if label is not None and key_of_label(tx, label) not in (None, key):
        taken = key_of_label(tx, label)
        raise LabelTaken(f"the label {label!r} belongs to {taken} already", hint="choose another label")
    if values:
        tx.update(sessions, {"key": key}, **values, updated_at=tx.now)
    return get_session(tx, key)


def keep_prompt_report(tx: Tx, key: str, report: str) -> None:
    """How long the parts of the prompt are, as JSON. Nothing was said by that: the session is no newer."""
    tx.update(sessions, {"key": key}, system_prompt_report=report)


def keep_place(tx: Tx, key: str, place: str | None) -> None:
    """Where the session was last spoken to, as JSON; None for no channel."""
    tx.update(sessions, {"key": key}, origin=place)


def keep_skills_snapshot(tx: Tx, key: str, snapshot: str) -> None:
    """The skills that the prompt names, as JSON. It holds until a new conversation begins."""
    tx.update(sessions, {"key": key}, skills_snapshot=snapshot)


_NEXT_POSITION = (
    update(sessions)
    .where(sessions.c.key == bindparam("session"))
    .values(
        positions=sessions.c.positions + 1,
        updated_at=bindparam("now"),
    )
    .returning(sessions.c.positions, sessions.c.id)
)
_MORE_TOKENS = (
    update(sessions)
    .where(sessions.c.key == bindparam("session"))
    .values(
        input_tokens=sessions.c.input_tokens + bindparam("input"),
        output_tokens=sessions.c.output_tokens + bindparam("output"),
    )
)


def next_position(tx: Tx, key: str) -> tuple[int, str]:
    """The place of the next item and the transcript in use. Holds the session's row until the commit: nothing
    is locked after it."""
    [(position, transcript)] = tx.rows(_NEXT_POSITION, session=key, now=tx.now)
    return int(position), str(transcript)


def count_tokens(tx: Tx, key: str, used: Spent) -> None:
    """Adds to what the session has used since it began. Holds its row until the commit, too."""
    tx.execute(_MORE_TOKENS, {"session": key, "input": used.input_tokens, "output": used.output_tokens})


def begin_transcript(tx: Tx, key: str, by: str, *, closes: bool = False) -> Archive:
    """Ends the transcript in use, which stays as an archive, and begins another. Runs that have not started
    belong to the new one. Call it with the session's lane locked. `closes`: nobody will use the new one."""
    entry = get_session(tx, key)
    archive = Archive(entry.id, key, entry.started_at, tx.now, by)
    tx.insert(archives, **vars(archive))
    fresh = new_id()
    counts = {"input_tokens": 0, "output_tokens": 0, "compaction_count": 0}
    gone = {"context_report": None, "skills_snapshot": None}
    tx.update(sessions, {"key": key}, id=fresh, started_at=tx.now, updated_at=tx.now, **counts, **gone)
    not_begun = (runs.c.session_key == key, runs.c.transcript == entry.id, runs.c.epoch == 0, is_open())
    tx.execute(update(runs).where(*not_begun).values(transcript=fresh))
    _tell_ended(tx, key, entry.id, by)
    if not closes:
        _tell_begun(tx, key, fresh)
    tx.tell_changed(key)
    return archive


def archives_of(tx: Tx, key: str) -> list[Archive]:
    """The latest first."""
    query = select(*columns_of(Archive, archives)).where(archives.c.session_key == key)
    return [record(Archive, row) for row in tx.all(query.order_by(archives.c.ended_at.desc(), archives.c.id))]


def sessions_page(
    tx: Tx,
    *,
    limit: int,
    after: str | None = None,
    agent_id: str | None = None,
    spawned_by: str | None = None,
) -> Page[SessionEntry]:
    """The one that was last at work first."""
    query = select(*columns_of(SessionEntry, sessions)).where(sessions.c.hidden == 0)
    if agent_id is not None:
        query = query.where(sessions.c.agent_id == agent_id)
    if spawned_by is not None:
        query = query.where(sessions.c.spawned_by == spawned_by)
    order = Order(sessions, (sessions.c.updated_at,), descending=True)
    page = order.page(tx, query, limit=limit, after=after)
    return Page([record(SessionEntry, row) for row in page.items], page.next_after)


def children_at_work(tx: Tx, key: str) -> int:
    """How many sessions that this one spawned have a run under way."""
    under_way = select(runs.c.session_key).where(is_open())
    query = select(func.count()).where(sessions.c.spawned_by == key, sessions.c.key.in_(under_way))
    return int(tx.execute(query).scalar_one())


def descendants(tx: Tx, key: str) -> list[SessionEntry]:
    """The sessions that this one spawned, and theirs, nearest first."""
    found: list[SessionEntry] = []
    parents = [key]
    while parents:
        query = select(*columns_of(SessionEntry, sessions)).where(
            or_(*(sessions.c.spawned_by == parent for parent in parents))
        )
        level = [record(SessionEntry, row) for row in tx.all(query.order_by(sessions.c.created_at))]
        known = {each.key for each in found}
        level = [each for each in level if each.key not in known]
        found += level
        parents = [each.key for each in level]
    return found
