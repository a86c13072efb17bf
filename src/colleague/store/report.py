"""Everything the runtime did for one run, in one document."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from colleague.clock import iso
from colleague.main_names import MAIN_TRANSCRIPT
from colleague.run_document import (
    REHEARSAL_MODELS,
    AheadDocument,
    AttemptDocument,
    CallDocument,
    LevelsDocument,
    MessageDocument,
    ModelRequestDocument,
    RunBrief,
    RunDocument,
    SlaDocument,
    TroubleDocument,
)
from colleague.store.approvals import approvals_of, waits_for_person
from colleague.store.chat_answers import ANSWER, result_message
from colleague.store.delegations import child_runs
from colleague.store.forks import TAKEN_OVER, forks_of
from colleague.store.journal import Call, all_messages, read_calls, read_messages
from colleague.store.lanes import head_of
from colleague.store.model_requests import ModelRequestRow, model_requests_of
from colleague.store.outbox import SESSIONS, UNREAD, OutboxMessage, outbox_of
from colleague.store.run import Run, get_run
from colleague.store.sla import Sla
from colleague.store.spend import spent_by_run
from colleague.store.sql import bindparam, func, select
from colleague.store.steps import step_document, steps_of
from colleague.store.tables import attempts, calls, is_open, messages, runs
from colleague.store.trouble import Trouble
from colleague.store.tx import Tx

DEFAULT_LEVELS: LevelsDocument = {"reasoning": "off", "verbose": "on"}
"""Where nobody looks into the settings."""


@dataclass(frozen=True)
class Attempt:
    """One row of `attempts`."""

    number: int
    started_at: int
    ended_at: int | None
    outcome: str | None
    error: str | None


def run_document(tx: Tx, run_id: str) -> RunDocument:
    run = get_run(tx, run_id)
    asked = approvals_of(tx, run_id)
    used = spent_by_run(tx, run_id)
    ahead = run_ahead(tx, run)
    return {
        **brief_document(run),
        "version": run.version,
        "model": run.model,
        "turns": _turns(tx, run_id),
        "inputs": json.loads(run.inputs),
        "event_id": run.event_id,
        "session_key": run.session_key,
        "lane": run.lane,
        "waiting_on": [each.id for each in asked if each.holds],
        "retry_at": iso(run.retry_at),
        "behind": runs_ahead(tx, run),
        "ahead": _ahead(ahead) if ahead else None,
        "blocked_by": ahead.id if ahead and waits_for_person(tx, ahead.id) else None,
        "attempts": [
            _attempt(each) for each in tx.find(Attempt, attempts, {"run_id": run_id}, order=("number",))
        ],
        "steps": [step_document(step) for step in steps_of(tx, run_id)],
        "calls": [_call(call) for call in calls_in_order(tx, run_id)],
        "approvals": [each.id for each in asked],
        "child_runs": child_runs(tx, run_id),
        "forks": forks_of(tx, run_id),
        "outputs": json.loads(run.outputs) if run.outputs else None,
        "narrative": run.narrative,
        "delivery": _delivery(tx, run_id),
        "notices": [
            outbox_document(each) for each in _outbox_to_people(tx, run_id) if each.kind not in _RESULTS
        ],
        "sla": _sla(run),
        "usage": {
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cache_read_tokens": used.cache_read_tokens,
            "cache_write_tokens": used.cache_write_tokens,
            "cost": used.cost,
        },
        "levels": DEFAULT_LEVELS,
        "result": None,
        "model_requests": [_model_request(each) for each in model_requests_of(tx, run_id)],
    }


def _model_request(made: ModelRequestRow) -> ModelRequestDocument:
    return {
        "model": made.model,
        "profile": made.profile or None,
        "thinking": made.thinking,
        "session": made.session,
        "turn": made.turn,
        "outcome": made.outcome,
        "error": made.error,
        "input_tokens": made.input_tokens,
        "output_tokens": made.output_tokens,
        "cost": made.cost,
        "seconds": made.took_ms / 1000,
        "at": iso(made.ended_at, "milliseconds"),
    }


def calls_in_order(tx: Tx, run_id: str) -> list[Call]:
    """Of all sessions, as they were asked for."""
    return sorted(read_calls(tx, run_id), key=lambda call: call.id)


@dataclass(frozen=True)
class AnswerText:
    """What a model said in one answer, with all its tags, and the calls it asked for."""

    text: str
    call_ids: frozenset[str]
    thinking: str = ""
    finish_reason: str | None = None


def answers_of(tx: Tx, run_id: str) -> list[AnswerText]:
    """The answers in the main session of a run, in order."""
    asked_for = _calls_by_position(tx, run_id)
    found = []
    for message in read_messages(tx, run_id, MAIN_TRANSCRIPT):
        said = [each for each in json.loads(message.body) if each.get("kind") == "response"]
        if said:
            ids = frozenset(asked_for.get(message.position, ()))
            sent = (said[-1].get("metadata") or {}).get(SENT)
            text = "".join(map(_text_of, said)) if sent is None else sent
            thinking = "".join(map(_thinking_of, said)) if sent is None else ""
            found.append(AnswerText(text, ids, thinking, said[-1].get("finish_reason")))
    return found


def _calls_by_position(tx: Tx, run_id: str) -> dict[int, list[str]]:
    """Their ids alone: arguments and results of a long run are much to read."""
    found: dict[int, list[str]] = {}
    own = (calls.c.run_id == run_id) & (calls.c.session == MAIN_TRANSCRIPT)
    for row in tx.all(select(calls.c.id, calls.c.position).where(own)):
        found.setdefault(row.position, []).append(row.id)
    return found


_RESPONSES = select(func.count()).where(
    messages.c.run_id == bindparam("run"),
    messages.c.session == MAIN_TRANSCRIPT,
    messages.c.attempt != TAKEN_OVER,
    # inside of a text the quotes would be escaped
    messages.c.body.contains('"kind":"response"'),
)


def _turns(tx: Tx, run_id: str) -> int:
    return int(tx.execute(_RESPONSES, {"run": run_id}).scalar_one())


def _thinking_of(response: dict[str, Any]) -> str:
    return "".join(part["content"] for part in response["parts"] if part["part_kind"] == "thinking")


def _text_of(response: dict[str, Any]) -> str:
    """Its texts as one, in paragraphs where something else stands between them."""
    paragraphs = [""]
    for part in response["parts"]:
        if part["part_kind"] == "text":
            paragraphs[-1] += part["content"]
        elif paragraphs[-1]:
            paragraphs.append("")
    return "\n\n".join(filter(None, paragraphs))


def _outbox_to_people(tx: Tx, run_id: str) -> list[OutboxMessage]:
    """What people are told of a run; what a session is told stands in the session."""
    return [each for each in outbox_of(tx, run_id) if each.channel != SESSIONS]


def _delivery(tx: Tx, run_id: str) -> MessageDocument | None:
    found = result_message([each for each in outbox_of(tx, run_id) if each.kind in _RESULTS])
    return outbox_document(found) if found else None


_RESULTS = ("delivery", ANSWER)
SENT = "colleague.sent"
"""In the metadata of an answer: what people were told of it, where a plugin made it another text."""
_SHOWN = {"sent": "delivered", UNREAD: "waiting"}


def outbox_document(message: OutboxMessage) -> MessageDocument:
    """What was, or is to be, told to people. `delivered` is only said of what somebody got."""
    return {
        "id": message.id,
        "kind": message.kind,
        "subject": message.subject,
        "run_id": message.run_id,
        "status": _SHOWN.get(message.status, message.status),
        "channel": message.channel,
        "at": iso(message.sent_at),
        "read_by": message.read_by,
        "error": message.error,
        "body": json.loads(message.body),
    }


def _sla(run: Run) -> SlaDocument | None:
    sla = Sla.of(run)
    if sla is None:
        return None
    breached = run.sla_breached_at is not None
    return {"limit": f"{sla.limit_ms // 1000}s", "breached": breached, "at": iso(run.sla_breached_at)}


def brief_document(run: Run) -> RunBrief:
    """What a list shows."""
    return {
        "id": run.id,
        "expert": run.expert,
        "kind": run.kind,
        "process": run.process,
        "parent_run": run.parent_run,
        "status": run.status,
        "outcome": run.outcome,
        "error": run.error,
        "created_at": iso(run.created_at),
        "ended_at": iso(run.ended_at),
        "trouble": trouble_document(run),
        "dry_run": run.dryness,
        "rehearsal": run.model.startswith(REHEARSAL_MODELS),
        "forked_from": {"id": run.forked_from, "step": run.forked_step or 1} if run.forked_from else None,
    }


def trouble_document(run: Run) -> TroubleDocument | None:
    """Why the run does not go on at the moment; None when all is well."""
    trouble = Trouble.of(run)
    if trouble is None:
        return None
    return {"text": trouble.text, "since": iso(trouble.since), "next_try_at": iso(trouble.next_try_at)}


def _runs_of_session(tx: Tx, session_key: str) -> list[Run]:
    """The oldest first."""
    query = select(runs.c.id).where(runs.c.session_key == session_key).order_by(runs.c.id)
    return [get_run(tx, row.id) for row in tx.all(query)]


def runs_ahead(tx: Tx, run: Run) -> int:
    """How many unfinished runs stand before this one in its lane."""
    if run.lane is None or run.status == "done":
        return 0
    ahead = (runs.c.lane == run.lane) & (runs.c.seq < run.seq) & is_open()
    return int(tx.execute(select(func.count()).select_from(runs).where(ahead)).scalar_one())


def run_ahead(tx: Tx, run: Run) -> Run | None:
    """The run that holds the lane of this queued one; None when it may begin."""
    if run.lane is None or run.status != "queued":
        return None
    head = head_of(tx, run.lane)
    return get_run(tx, head) if head and head != run.id else None


def _ahead(run: Run) -> AheadDocument:
    return {
        "id": run.id,
        "status": run.status,
        "trouble": trouble_document(run),
        "retry_at": iso(run.retry_at),
    }


def runs_behind(tx: Tx, run: Run) -> int:
    """How many unfinished runs wait for this one in its lane."""
    if run.lane is None or run.status == "done":
        return 0
    behind = (runs.c.lane == run.lane) & (runs.c.seq > run.seq) & is_open()
    return int(tx.execute(select(func.count()).select_from(runs).where(behind)).scalar_one())


def sessions(tx: Tx) -> list[dict[str, Any]]:
    """Every session with the number of its runs and when the last one began."""
    columns = (runs.c.session_key, func.count().label("runs"), func.max(runs.c.created_at).label("last"))
    rows = tx.all(select(*columns).group_by(runs.c.session_key).order_by(func.max(runs.c.created_at).desc()))
    return [{"session_key": row.session_key, "runs": row.runs, "last_run_at": iso(row.last)} for row in rows]


def trajectory(tx: Tx, session_key: str) -> list[dict[str, Any]]:
    """A session as records in the order in which they happened: runs, messages, calls, approvals."""
    records: list[dict[str, Any]] = []
    for run in _runs_of_session(tx, session_key):
        records.append({"type": "run", **brief_document(run)})
        made = read_calls(tx, run.id)
        for message in all_messages(tx, run.id):
            body = json.loads(message.body)
            place = {"session": message.session, "position": message.position}
            records.append({"type": "message", "run": run.id} | place | {"messages": body})
            here = [c for c in made if (c.session, c.position) == (message.session, message.position)]
            records += [{"type": "call", "run": run.id, **_call(call)} for call in here]
        for each in approvals_of(tx, run.id):
            decided = {
                "by": each.decided_by,
                "at": iso(each.decided_at),
                "decision": each.decision,
                "note": each.note,
            }
            about = {"id": each.id, "kind": each.kind, "operation": each.operation, "status": each.status}
            records.append({"type": "approval", "run": run.id} | about | decided)
    return records


def _attempt(attempt: Attempt) -> AttemptDocument:
    return {
        "number": attempt.number,
        "started_at": iso(attempt.started_at),
        "ended_at": iso(attempt.ended_at),
        "outcome": attempt.outcome,
        "error": attempt.error,
    }


def _result(call: Call) -> dict[str, Any] | None:
    """What came of a call; private text stays in the runtime."""
    result: dict[str, Any] | None = json.loads(call.result) if call.result else None
    return result | {"text": "[private]"} if result and result.get("private") else result


def _call(call: Call) -> CallDocument:
    return {
        "id": call.id,
        "session": call.session,
        "operation": call.operation,
        "tier": call.tier,
        "arguments": json.loads(call.arguments),
        "status": call.status,
        "sends": call.sends,
        "taken_from": call.taken_from,
        "result": _result(call),
        "is_error": call.is_error,
        "started_at": iso(call.started_at, "milliseconds"),
        "ended_at": iso(call.ended_at, "milliseconds"),
    }
