"""What was said and done in a run: messages and calls. The transcript is the checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from colleague.main_names import MAIN_TRANSCRIPT
from colleague.store.approvals import Ask, can_go_on, raise_asks
from colleague.store.claims import progress, wake_run
from colleague.store.ids import new_id
from colleague.store.run import Hold, Run, fenced, get_run, lock_run
from colleague.store.tables import approvals, calls, messages, sends
from colleague.store.tx import Tx

CallStatus = Literal[
    "allowed",
    "asked",
    "started",
    "finished",
    "unknown",
    "refused",
    "drafted",
    "described",
    "answered",
    "not_run",
    "parked",
]

SESSION = "session"
"""As a call's tool: it is a child session."""
DELEGATION = "delegation"
"""As a call's tool: it hands work to another session."""


@dataclass(frozen=True)
class Message:
    """One message of a session, as the model layer wrote it."""

    session: str
    position: int
    body: str
    parent_call: str | None
    attempt: int


@dataclass(frozen=True)
class NewCall:
    """A call a model answer asks for, gated but not yet made."""

    place: int
    tool_call_id: str
    operation: str
    arguments: str
    tier: str
    status: CallStatus
    server: str = ""
    tool: str = ""
    digest: str = ""
    repeatable: bool = False
    result: str | None = None
    is_error: bool = False
    note: str | None = None
    draft: bool = False
    """Whether it is left for a person to do, which is asked in the same commit."""
    channel: str | None = None
    """Where people are told of the draft."""
    target: str | None = None
    """What it is bound to, as CallTarget writes it."""
    grantable: bool = True
    """Whether a grant may stand for the yes it needs."""
    counted: bool = True
    """Whether it counts for the budget: not when it is one too many."""
    parked_from: str | None = None
    """The call of an earlier turn whose question was decided, and which is made here."""
    changed_by: str | None = None
    """The plugins that changed its arguments before they were judged."""


@dataclass(frozen=True)
class Call:
    """One row of `calls`. It is settled when it has a result."""

    id: str
    run_id: str
    session: str
    position: int
    place: int
    tool_call_id: str
    operation: str
    server: str
    tool: str
    tier: str
    arguments: str
    digest: str
    repeatable: bool
    status: CallStatus
    sends: int
    result: str | None
    is_error: bool
    note: str | None
    started_at: int | None
    ended_at: int | None
    target: str | None = None
    parked_from: str | None = None
    changed_by: str | None = None
    taken_from: str | None = None
    """The run that made it, when this one only took over what came of it."""

    @property
    def is_session(self) -> bool:
        """Whether the call is a session of its own inside the run: continued, never asked about."""
        return self.tool == SESSION

    @property
    def is_handed_over(self) -> bool:
        """Whether another session works on it: it is neither repeated nor asked about."""
        return self.tool == DELEGATION and self.status == "started" and self.result is None


def read_messages(tx: Tx, run_id: str, session: str = MAIN_TRANSCRIPT) -> list[Message]:
    return tx.find(Message, messages, {"run_id": run_id, "session": session}, order=("position",))


def all_messages(tx: Tx, run_id: str) -> list[Message]:
    """Of every session of a run, in the order in which they came."""
    return tx.find(Message, messages, {"run_id": run_id}, order=("created_at", "session", "position"))


def read_calls(tx: Tx, run_id: str, session: str | None = None) -> list[Call]:
    where = {"run_id": run_id} if session is None else {"run_id": run_id, "session": session}
    return tx.find(Call, calls, where, order=("position", "place"))


def get_call(tx: Tx, call_id: str) -> Call | None:
    found = tx.find(Call, calls, {"id": call_id})
    return found[0] if found else None


def append(
    tx: Tx,
    hold: Hold,
    added: Sequence[Message],
    *,
    new_calls: Sequence[NewCall] = (),
    working_ms: int = 0,
) -> list[Call]:
    """Messages, with the calls that the last of them asks for. A place is unique: no second answer fits."""
    progress(tx, hold, working_ms)
    written = {"run_id": hold.run_id, "created_at": tx.now}
    tx.insert_all(messages, [vars(each) | written for each in added])
    tx.tell_pages()
    return [_add_call(tx, hold.run_id, added[-1], call) for call in new_calls]


def _add_call(tx: Tx, run_id: str, message: Message, call: NewCall) -> Call:
    made = Call(
        id=new_id(),
        run_id=run_id,
        session=message.session,
        position=message.position,
        place=call.place,
        tool_call_id=call.tool_call_id,
        operation=call.operation,
        server=call.server,
        tool=call.tool,
        tier=call.tier,
        arguments=call.arguments,
        digest=call.digest,
        repeatable=call.repeatable,
        status=call.status,
        sends=0,
        result=call.result,
        is_error=call.is_error,
        note=call.note,
        started_at=None,
        ended_at=None if call.result is None else tx.now,
        target=call.target,
        parked_from=call.parked_from,
        changed_by=call.changed_by,
    )
    flags = {"repeatable": int(call.repeatable), "is_error": int(call.is_error)}
    tx.insert(calls, **vars(made) | flags)
    if call.draft:
        about = (call.operation, call.arguments, call.digest, call.note or "")
        raise_asks(tx, get_run(tx, run_id), [Ask(made.id, "draft", *about, channel=call.channel)])
    return made


def start_call(tx: Tx, hold: Hold, call: Call) -> int:
    """Commits a call as started, before it is sent; returns the number of this send.

    `call` has the final arguments, which a person may have edited, and their digest. A number that was used
    before is refused by the database."""
    return _start(tx, hold, call, tx.now)


def finish_reading(
    tx: Tx, hold: Hold, call: Call, result: str, took_ms: int, *, is_error: bool = False
) -> int:
    """Commits a reading with its answer at once: before that it can be made again, so nothing is lost."""
    ended = {"status": "finished", "result": result, "is_error": int(is_error), "ended_at": tx.now}
    return _start(tx, hold, call, tx.now - took_ms, **ended)


def _start(tx: Tx, hold: Hold, call: Call, began: int, **ended: Any) -> int:
    """With `ended` the send is over already."""
    run = fenced(tx, hold)
    number = call.sends + 1
    times = {"started_at": began, "ended_at": ended.get("ended_at")}
    tx.insert(sends, call_id=call.id, number=number, epoch=run.epoch, **times)
    begun = {"status": "started", "sends": number, "started_at": began}
    final = {"arguments": call.arguments, "digest": call.digest, "note": call.note, "target": call.target}
    tx.update(calls, {"id": call.id}, **begun | final | ended)
    tx.tell_pages()
    return number


def finish_call(tx: Tx, run_id: str, call_id: str, send: int, result: str, *, is_error: bool = False) -> bool:
    """Commits the answer to one send. Not fenced: a late answer is a decision about its own send.

    It closes the question that was asked about this send, and wakes the run when that held it. False when
    the call was settled in another way meanwhile."""
    run = lock_run(tx, run_id)
    tx.update(sends, {"call_id": call_id, "number": send}, ended_at=tx.now)
    [call] = tx.find(Call, calls, {"id": call_id})
    if call.result is not None or call.sends != send:
        return False
    ended = {"status": "finished", "result": result, "is_error": int(is_error), "ended_at": tx.now}
    tx.update(calls, {"id": call_id}, **ended)
    tx.tell_pages()
    if call.status in ("unknown", "started"):
        _close_question(tx, run, call_id, send)
    return True


def _close_question(tx: Tx, run: Run, call_id: str, send: int) -> None:
    about = {"call_id": call_id, "send": send, "status": "pending"}
    note = "the answer came after all"
    closed = tx.update(approvals, about, status="withdrawn", decided_at=tx.now, note=note)
    if closed and run.status == "waiting" and can_go_on(tx, run.id):
        wake_run(tx, run)


def settle_call(
    tx: Tx, hold: Hold, call_id: str, status: CallStatus, result: str, *, is_error: bool = False
) -> None:
    """A call that ends without being sent: refused, drafted, answered by a person, or not run."""
    fenced(tx, hold)
    [call] = tx.find(Call, calls, {"id": call_id})
    if call.result is None:
        ended = {"status": status, "result": result, "is_error": int(is_error), "ended_at": tx.now}
        tx.update(calls, {"id": call_id}, **ended)


def mark_unknown(tx: Tx, hold: Hold, call_id: str, note: str) -> None:
    """Sent, and no definite answer: crash, timeout, connection closed, cancel."""
    fenced(tx, hold)
    tx.update(calls, {"id": call_id, "status": "started"}, status="unknown", note=note)
