"""What agents show beside their answers: documents, tables and charts, every version of them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from colleague.clock import iso
from colleague.errors import NotFound, UsageError
from colleague.store.ids import new_id
from colleague.store.lookup import full_id
from colleague.store.record import columns_of, record
from colleague.store.sql import and_, delete, func, select
from colleague.store.tables import canvas_versions, canvases
from colleague.store.tx import Tx

MOST_PER_AGENT = 1_000
MOST_VERSIONS = 200


@dataclass(frozen=True)
class NewCanvas:
    """A version that is to be stored. `made_by` is the call: made again after a crash, it adds nothing."""

    title: str
    kind: str
    content: str
    run_id: str
    made_by: str


@dataclass(frozen=True)
class CanvasVersion(NewCanvas):
    """One row of `canvas_versions`."""

    canvas_id: str
    version: int
    created_at: int


@dataclass(frozen=True)
class Canvas:
    """One row of `canvases`; `version` is the newest."""

    id: str
    agent_id: str
    session_key: str
    version: int
    created_at: int
    updated_at: int


def put_canvas(
    tx: Tx, new: NewCanvas, *, agent_id: str, session_key: str, canvas_id: str | None
) -> CanvasVersion:
    """A new canvas, or another version of one of this agent."""
    made = tx.find(CanvasVersion, canvas_versions, {"made_by": new.made_by})
    if made:
        return made[0]
    canvas = _begun(tx, agent_id, session_key) if canvas_id is None else _own(tx, agent_id, canvas_id)
    version = canvas.version + 1
    if version > MOST_VERSIONS:
        raise UsageError(f"the canvas has {MOST_VERSIONS} versions", hint="show a new one, without id")
    tx.insert(canvas_versions, **asdict(new), canvas_id=canvas.id, version=version, created_at=tx.now)
    tx.update(canvases, {"id": canvas.id}, version=version, updated_at=tx.now)
    tx.tell_changed(session_key)
    return get_version(tx, canvas.id, version)


def _begun(tx: Tx, agent_id: str, session_key: str) -> Canvas:
    count = tx.execute(
        select(func.count()).select_from(canvases).where(canvases.c.agent_id == agent_id)
    ).scalar_one()
    if count >= MOST_PER_AGENT:
        raise UsageError(
            f"there are {count} canvases already", hint="a person can remove some: colleague canvas remove ID"
        )
    canvas = Canvas(new_id(), agent_id, session_key, 0, tx.now, tx.now)
    tx.insert(canvases, **asdict(canvas))
    return canvas


def _own(tx: Tx, agent_id: str, ending: str) -> Canvas:
    canvas = find_canvas(tx, ending, lock=True)
    if canvas.agent_id != agent_id:
        raise NotFound(f"there is no canvas {ending!r}")
    return canvas


def find_canvas(tx: Tx, ending: str, *, lock: bool = False) -> Canvas:
    """By any unique ending of its id. Raises NotFound, UsageError."""
    whole = full_id(tx, canvases, "canvas", ending)
    [found] = tx.find(Canvas, canvases, {"id": whole}, lock=lock)
    return found


def get_version(tx: Tx, canvas_id: str, version: int) -> CanvasVersion:
    found = tx.find(CanvasVersion, canvas_versions, {"canvas_id": canvas_id, "version": version})
    if not found:
        raise NotFound(f"the canvas has no version {version}")
    return found[0]


def canvas_documents(
    tx: Tx, *, session_key: str | None = None, agent_id: str | None = None, limit: int = 100
) -> list[dict[str, Any]]:
    """The newest first, without what they show."""
    newest = and_(
        canvas_versions.c.canvas_id == canvases.c.id, canvas_versions.c.version == canvases.c.version
    )
    columns = (*columns_of(Canvas, canvases), canvas_versions.c.title, canvas_versions.c.kind)
    query = select(*columns).join(canvas_versions, newest)
    if session_key is not None:
        query = query.where(canvases.c.session_key == session_key)
    if agent_id is not None:
        query = query.where(canvases.c.agent_id == agent_id)
    rows = tx.all(query.order_by(canvases.c.updated_at.desc(), canvases.c.id.desc()).limit(limit))
    return [
        {**_document(record(Canvas, tuple(row)[:-2])), "title": row.title, "kind": row.kind} for row in rows
    ]


def canvas_document(tx: Tx, ending: str, version: int | None = None) -> dict[str, Any]:
    """One canvas with what it shows, in its newest version or another."""
    canvas = find_canvas(tx, ending)
    shown = get_version(tx, canvas.id, canvas.version if version is None else version)
    return {
        **_document(canvas),
        "title": shown.title,
        "kind": shown.kind,
        "shown_version": shown.version,
        "run_id": shown.run_id,
        "content": json.loads(shown.content),
    }


def _document(canvas: Canvas) -> dict[str, Any]:
    times = {"created_at": iso(canvas.created_at), "updated_at": iso(canvas.updated_at)}
    return {**asdict(canvas), **times}


def remove_canvas(tx: Tx, ending: str) -> str:
    """With all of its versions; returns its id."""
    canvas = find_canvas(tx, ending, lock=True)
    tx.execute(delete(canvas_versions).where(canvas_versions.c.canvas_id == canvas.id))
    tx.execute(delete(canvases).where(canvases.c.id == canvas.id))
    return canvas.id
