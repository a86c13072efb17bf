"""A session as a document: its entry, what it is doing, and what was said in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from colleague.clock import iso
from colleague.main_names import MAIN_TRANSCRIPT
from colleague.session_document import (
    ArchiveDocument,
    HitDocument,
    ItemCall,
    ItemDocument,
    SessionDocument,
    SessionStatus,
)
from colleague.store.approvals import parked_in
from colleague.store.child_questions import child_questions
from colleague.store.inbox import count_waiting
from colleague.store.journal import Call, read_calls
from colleague.store.lanes import head_of
from colleague.store.run import Run, get_run
from colleague.store.session_entry import Archive, SessionEntry
from colleague.store.session_items import SessionItem
from colleague.store.session_search import SearchHit
from colleague.store.tx import Tx

_STATUS: dict[str, SessionStatus] = {"running": "running", "waiting": "waiting"}


def session_document(tx: Tx, entry: SessionEntry) -> SessionDocument:
    """The stored entry, with what the session is doing; times and JSON as documents have them."""
    head = head_of(tx, entry.key)
    run = get_run(tx, head) if head else None
    waiting = count_waiting(tx, entry.key)
    known: dict[str, Any] = dict(vars(entry)) | {
        "session_id": entry.id,
        "status": _status(run, waiting),
        "run_id": head,
        "parked": len(parked_in(tx, entry.key)),
        "child_questions": child_questions(tx, entry.key),
        "waiting": waiting,
        "created_at": iso(entry.created_at),
        "updated_at": iso(entry.updated_at),
        "started_at": iso(entry.started_at),
        "session_file": None,
        "origin": _json(entry.origin),
        "skills_snapshot": _json(entry.skills_snapshot),
        "system_prompt_report": _json(entry.system_prompt_report),
        "context": _json(entry.context_report),
    }
    return cast("SessionDocument", {name: known[name] for name in SessionDocument.__annotations__})


def _status(run: Run | None, waiting: int) -> SessionStatus:
    if run is None:
        return "queued" if waiting else "idle"
    return _STATUS.get(run.status, "queued")


def _json(text: str | None) -> Any:
    return json.loads(text) if text else None


def item_documents(tx: Tx, items: Sequence[SessionItem]) -> list[ItemDocument]:
    """What people saw, each answer with the calls that it asked for."""
    calls = {
        run_id: read_calls(tx, run_id, MAIN_TRANSCRIPT) for run_id in dict.fromkeys(_runs_with_calls(items))
    }
    return [_item(each, calls.get(each.run_id or "", [])) for each in items]


def _runs_with_calls(items: Sequence[SessionItem]) -> list[str]:
    return [each.run_id for each in items if each.run_id and each.run_position is not None]


def _item(item: SessionItem, calls: Sequence[Call]) -> ItemDocument:
    own = [call for call in calls if item.run_position is not None and call.position == item.run_position]
    return {
        "position": item.position,
        "role": item.role,
        "text": item.text,
        "reasoning": item.reasoning,
        "run_id": item.run_id,
        "at": iso(item.created_at),
        "source": item.source,
        "attachments": _json(item.attachments),
        "calls": [_call(each) for each in own],
    }


def _call(call: Call) -> ItemCall:
    result = json.loads(call.result) if call.result else None
    shown = None if result is None else "[private]" if result.get("private") else str(result.get("text", ""))
    return {
        "id": call.id,
        "operation": call.operation,
        "status": call.status,
        "arguments": json.loads(call.arguments),
        "result": shown,
    }


def hit_document(hit: SearchHit) -> HitDocument:
    return {
        "session_key": hit.session_key,
        "label": hit.label,
        "position": hit.position,
        "archive": hit.archive,
        "role": hit.role,
        "excerpt": hit.excerpt,
        "at": iso(hit.created_at),
    }


def archive_document(archive: Archive) -> ArchiveDocument:
    return {
        "id": archive.id,
        "started_at": iso(archive.started_at),
        "ended_at": iso(archive.ended_at),
        "ended_by": archive.ended_by,
    }
