"""The transcript of one session of a run: loaded from the store, written back one commit at a time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from colleague.agent.call_result import Result
from colleague.agent.context.state import ContextState
from colleague.agent.models.messages import from_json, to_json
from colleague.agent.request_record import answered_request, failed_request, spent_on
from colleague.agent.streaming.answer import answer_of, as_sent
from colleague.errors import CommitUnknown, DatabaseUnavailable
from colleague.main_names import MAIN_TRANSCRIPT
from colleague.store import journal
from colleague.store.approvals import Approval, Ask, approvals_about, approvals_of, wait
from colleague.store.chat_answers import ChatTarget, ChatWords, tell_chat
from colleague.store.claims import Taken, attempt_error, keep_progress
from colleague.store.delegations import end_call
from colleague.store.forks import TAKEN_OVER
from colleague.store.grants import Grant, live_grants
from colleague.store.inbox import has_steered, take_steered
from colleague.store.journal import Call, Message, NewCall
from colleague.store.lanes import lock_lane
from colleague.store.model_requests import NewModelRequest, add_model_request
from colleague.store.report import SENT
from colleague.store.run import Run, fenced, require_hold
from colleague.store.session_entry import count_tokens
from colleague.store.session_items import NewItem, SessionItem, add_item
from colleague.store.spend import Spent, add_spend, spent_by_run, spent_today
from colleague.store.tables import sessions
from colleague.store.trouble import Trouble, clear_trouble, note_trouble
from colleague.store.tx import Database, Fenced, Tx
from colleague.store.unfinished import UnfinishedAnswer

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse

    from colleague.agent.models.reply import Reply
    from colleague.agent.models.retry import FailedTry
    from colleague.agent.streaming.answer import ModelAnswer
    from colleague.agent.tool import Handover
    from colleague.hooks.runner import TextChange

T = TypeVar("T")
Content = str | Sequence[Any]
"""What is said to an agent: text, or text with pictures, as the model layer has them."""

KEEP_TRYING_SECONDS = 30.0
PAUSE_SECONDS = 0.5


class Stopwatch:
    """Working time of an attempt, over all its sessions."""

    def __init__(self, worked_ms: int) -> None:
        self._worked_ms = worked_ms
        self._started = time.monotonic()

    @property
    def ms(self) -> int:
        return self._worked_ms + int((time.monotonic() - self._started) * 1000)


class Conversation:
    """The messages, calls and questions of one session of a run."""

    def __init__(
        self,
        database: Database,
        taken: Taken,
        session: str = MAIN_TRANSCRIPT,
        *,
        parent_call: str | None = None,
        stopwatch: Stopwatch | None = None,
        redact: Callable[[str], str] = str,
        hidden: bool = False,
        chat: ChatTarget | None = None,
    ) -> None:
        self._database = database
        self._taken = taken
        self.run: Run = taken.run
        self.hold = taken.hold
        self._lease = taken.lease
        self.session = session
        self._parent_call = parent_call
        self._stopwatch = stopwatch or Stopwatch(taken.run.working_ms)
        self.calls: list[Call] = []
        self.approvals: list[Approval] = []
        self._messages: list[Message] = []
        self._parsed: list[list[ModelMessage]] = []
        self._stale = False
        self._in_trouble = False
        self._committed = 0
        self._unspent = Spent()
        self._answered: NewModelRequest | None = None
        self._redact = redact
        self._hidden = hidden
        self._chat = chat
        self._sent: dict[int, TextChange] = {}
        self.on_shown: Callable[[str], None] | None = None
        """Told, after the commit, what people see of an answer."""
        self.context = ContextState()
        """What is shown of it, and of earlier turns of the same transcript."""

    @property
    def is_turn(self) -> bool:
        """Whether this is said in a session that goes on between runs, where people see it."""
        return self.run.transcript is not None and self._parent_call is None

    @property
    def working_ms(self) -> int:
        """Working time of this attempt; waiting for a person is no work."""
        return self._stopwatch.ms

    def child(self, call_id: str) -> Conversation:
        """The session that a call is."""
        return Conversation(
            self._database, self._taken, call_id, parent_call=call_id, stopwatch=self._stopwatch
        )

    async def load(self) -> None:
        """Everything, from the store."""
        self._messages, self.calls, self.approvals = await self._database.read(
            lambda tx: (journal.read_messages(tx, self.run.id, self.session), *self._open(tx))
        )
        self._parsed = [from_json(message.body) for message in self._messages]
        self._committed = len(self._messages)

    async def refresh(self) -> None:
        """Calls and questions, which others may have changed meanwhile."""
        self.calls, self.approvals = await self._database.read(self._open)
        self._stale = False

    async def refresh_if_stale(self) -> None:
        """Spares the reading when all that happened is known here already."""
        if self._stale:
            await self.refresh()

    def _open(self, tx: Tx) -> tuple[list[Call], list[Approval]]:
        calls = journal.read_calls(tx, self.run.id, self.session)
        parked = [call.parked_from for call in calls if call.parked_from]
        return calls, [*approvals_about(tx, parked), *approvals_of(tx, self.run.id)]

    @property
    def may_be_taken_over(self) -> bool:
        return self._database.shared

    def require_lease(self) -> None:
        """Raises Fenced when somebody else may hold the run by now."""
        if self.may_be_taken_over and self._lease.is_over:
            raise Fenced(self.run.id)

    async def require_hold(self) -> None:
        """Raises Fenced when somebody else holds the run, or has ended it. One just taken is ours."""
        if self.may_be_taken_over and self._committed:
            await self._database.read(lambda tx: require_hold(tx, self.hold))

    async def note_trouble(self, text: str, delay_ms: int) -> Trouble | None:
        """Records why the run does not go on, for other processes. Raises Fenced; a database that is away
        costs only this note."""
        self._in_trouble = True
        try:
            return await self._database.write(lambda tx: note_trouble(tx, self.hold, text, delay_ms))
        except DatabaseUnavailable:
            return None

    async def note_failed_request(self, failed: FailedTry) -> None:
        """Records a request that failed, and what it cost; a database that is away costs only this note."""
        made = failed_request(failed, self.session, self.turns + 1, self._redact)
        used = Spent(made.input_tokens or 0, made.output_tokens or 0, made.cost or 0.0)

        def work(tx: Tx) -> None:
            add_model_request(tx, self.run.id, made)
            self._add_spend(tx, used)

        with contextlib.suppress(DatabaseUnavailable):
            await self._database.write(work)

    async def keep_request(self, reply: Reply) -> None:
        """Records an answer that is no part of a transcript, and what it cost."""
        made, used = answered_request(reply, self.session, self.turns + 1), spent_on(reply)

        def work(tx: Tx) -> None:
            add_model_request(tx, self.run.id, made)
            self._add_spend(tx, used)

        await self.write_with_retries(work)

    @property
    def database(self) -> Database:
        return self._database

    async def clear_trouble(self) -> None:
        """The model has answered. What cannot be written now is cleared with the answer itself."""
        if self._in_trouble:
            self._in_trouble = False
            with contextlib.suppress(DatabaseUnavailable):
                await self._database.write(lambda tx: clear_trouble(tx, self.hold))

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await self._database.read(work)

    async def write(self, work: Callable[[Tx], T]) -> T:
        self._stale = True
        return await self._database.write(work)

    async def start(self, call: Call) -> int:
        """Commits a call as started, with its final arguments; returns the number of this send."""
        number = await self._database.write(lambda tx: journal.start_call(tx, self.hold, call))
        self._put(replace(call, status="started", sends=number))
        return number

    async def delegate(self, call: Call, handover: Handover) -> Result | None:
        """Commits a call as started together with the work that it starts elsewhere. Its result, unless it
        waits for that work."""

        def work(tx: Tx) -> tuple[int, Result | None]:
            lock_lane(tx, handover.lane)
            number = journal.start_call(tx, self.hold, call)
            text = handover.start(tx)
            keep_progress(tx, self.hold, self.working_ms)
            if text is None:
                return number, None
            end_call(tx, call.id, text)
            return number, Result(text)

        number, result = await self.write(work)
        stored = result.to_json() if result else None
        status: journal.CallStatus = "finished" if result else "started"
        self._put(replace(call, status=status, sends=number, result=stored))
        return result

    async def finish(self, call: Call, send: int, result: Result, *, is_error: bool) -> None:
        """Commits a call's answer."""
        text = result.to_json()

        def work(tx: Tx) -> bool:
            counts = journal.finish_call(tx, self.run.id, call.id, send, text, is_error=is_error)
            keep_progress(tx, self.hold, self.working_ms)
            return counts

        if await self.write_with_retries(work):
            self._put(replace(call, status="finished", sends=send, result=text, is_error=is_error))
        else:
            self._stale = True

    async def finish_reading(self, call: Call, result: Result, took_ms: int, *, is_error: bool) -> None:
        """Commits a reading together with its answer."""
        text = result.to_json()

        def work(tx: Tx) -> int:
            number = journal.finish_reading(tx, self.hold, call, text, took_ms, is_error=is_error)
            keep_progress(tx, self.hold, self.working_ms)
            return number

        number = await self.write_with_retries(work)
        self._put(replace(call, status="finished", sends=number, result=text, is_error=is_error))

    async def write_with_retries(self, work: Callable[[Tx], T]) -> T:
        """For what a model or a tool has answered, which exists nowhere else: while the database is away it
        is tried again, for a while, and never once somebody else may hold the run."""
        deadline = time.monotonic() + KEEP_TRYING_SECONDS
        while True:
            try:
                return await self._database.write(work)
            except CommitUnknown:
                raise
            except DatabaseUnavailable:
                if time.monotonic() > deadline or (self.may_be_taken_over and self._lease.is_over):
                    raise
                await asyncio.sleep(PAUSE_SECONDS)

    def _put(self, call: Call) -> None:
        self.calls = [call if each.id == call.id else each for each in self.calls]

    @property
    def turns(self) -> int:
        """How often the model has answered in this run; what a fork took over was said in another."""
        pairs = zip(self._messages, self._parsed, strict=True)
        return sum(
            1 for each, said in pairs if each.attempt != TAKEN_OVER and said and said[0].kind == "response"
        )

    @property
    def is_empty(self) -> bool:
        return not self._messages

    @property
    def final_text(self) -> str | None:
        """The last answer, when it asks for nothing more."""
        last = self._parsed[-1][-1] if self._parsed else None
        if last is None or last.kind != "response" or last.tool_calls:
            return None
        return last.text or ""

    @property
    def sent_text(self) -> str:
        """What people are told of the last answer, where a plugin made it another text; empty elsewhere."""
        sent = self._sent.get(len(self._messages) - 1)
        return (sent.refusal or sent.text) if sent is not None else ""

    @property
    def last_calls(self) -> list[Call]:
        """The calls of the last answer; none once something was said after it."""
        last = self._messages[-1] if self._messages else None
        answered = last is not None and self._parsed[-1][-1].kind == "response"
        return [call for call in self.calls if last and answered and call.position == last.position]

    @property
    def calls_of_attempt(self) -> list[Call]:
        """The calls that were asked for in this attempt."""
        places = {message.position for message in self._messages if message.attempt == self.run.attempt}
        return [call for call in self.calls if call.position in places]

    @property
    def texts_of_attempt(self) -> int:
        """How many answers of this attempt asked for nothing more."""
        pairs = zip(self._messages, self._parsed, strict=True)
        return sum(
            1
            for message, parsed in pairs
            if message.attempt == self.run.attempt
            and parsed[-1].kind == "response"
            and not parsed[-1].tool_calls
        )

    @property
    def open_calls(self) -> list[Call]:
        """Calls of the last answer that have no result yet, in order."""
        return [call for call in self.calls if call.result is None]

    def approval_of(self, call: Call) -> Approval | None:
        """The question about a call that counts now: about this very send once it is unknown."""
        unknown = call.status == "unknown"
        kinds = ("uncertain",) if unknown else ("confirm", "low_confidence")
        send = call.sends if unknown else None
        about = [
            each
            for each in self.approvals
            if (each.call_id, each.send) == (call.id, send) and each.kind in kinds
        ]
        counting = [each for each in about if each.status in ("pending", "decided", "expired")]
        return counting[-1] if counting else self._decided_before(call)

    def _decided_before(self, call: Call) -> Approval | None:
        """The decision about a parked call, which is made in this turn. It counts for one send, the first."""
        if not call.parked_from or call.status != "asked":
            return None
        about = [each for each in self.approvals if each.call_id == call.parked_from]
        found = [each for each in about if each.kind != "elicitation"]
        return next((each for each in found if each.status in ("decided", "expired")), None)

    @property
    def attempt_is_new(self) -> bool:
        return self._messages[-1].attempt < self.run.attempt

    async def last_error(self) -> str:
        """Why the attempt before this one failed."""
        error = await self._database.read(lambda tx: attempt_error(tx, self.run.id, self.run.attempt - 1))
        return error or "no reason is known"

    def say(self, content: Content) -> None:
        """Adds what a person, or the framework, says to the agent; it is committed with the next answer.

        Until then it can be said again, because it follows from the run itself."""
        self._add(_request(content))

    async def make(self, call: NewCall) -> None:
        """Commits what was said so far with a call that a person decided about in an earlier turn."""
        self.calls += await self.write_with_retries(lambda tx: self.keep_in(tx, [call]))
        self._mark_committed()
        await self.refresh()

    async def take_steered(self, render: Callable[[Tx, Sequence[SessionItem]], Content]) -> bool:
        """Adds messages that came since the last answer, and commits them: they are part of this turn now."""
        key = self.run.session_key
        if not await self._database.read(lambda tx: has_steered(tx, key)):
            return False
        places = len(self._messages)

        def work(tx: Tx) -> Message | None:
            items = take_steered(tx, self.hold, key)
            if not items:
                return None
            self.keep_in(tx)
            body = to_json(_request(render(tx, items)))
            message = Message(self.session, places, body, None, self.run.attempt)
            journal.append(tx, self.hold, [message], working_ms=self.working_ms)
            return message

        message = await self.write_with_retries(work)
        if message is not None:
            self._messages.append(message)
            self._parsed.append(from_json(message.body))
            self._mark_committed()
        return message is not None

    def begin_answer(self) -> None:
        """A model is asked, or asked again. Whoever stops the run in this process keeps what people were told
        of the answer by then."""
        if self.is_turn and not self._hidden:
            self._database.unfinished[self.hold] = UnfinishedAnswer(self.session, len(self._messages))

    def note_told(self, text: str, *, void: bool = False) -> None:
        """People are told more of the answer. `void`: what they were told before is no part of it."""
        if self.is_turn and (answer := self._database.unfinished.get(self.hold)) is not None:
            answer.add(self._redact(text), void=void)

    def let_go(self) -> None:
        """Nobody works on the run here any more."""
        self._database.unfinished.pop(self.hold, None)

    async def answer(
        self, reply: Reply, new_calls: Sequence[NewCall], sent: TextChange | None = None
    ) -> None:
        """Adds a model answer. With calls it is committed at once; one without may end the run, so it is
        committed with that end, or by `keep`. `sent`: what plugins made of the words that people see."""
        self._add([reply.response if sent is None else _as_answered(reply.response, sent)])
        if sent is not None:
            self._sent[len(self._messages) - 1] = sent
        self._unspent = spent_on(reply, calls=sum(call.counted for call in new_calls))
        self._answered = answered_request(reply, self.session, self.turns)
        if new_calls:
            self.calls += await self.write_with_retries(lambda tx: self.keep_in(tx, new_calls))
            self._stale = self._stale or any(call.draft for call in new_calls)
            self._mark_committed()

    async def keep(self) -> None:
        """Commits an answer that is only here so far, with what was said before and after it."""
        if any(messages[-1].kind == "response" for messages in self._parsed[self._committed :]):
            await self.write_with_retries(self.keep_in)
            self._mark_committed()

    def keep_in(self, tx: Tx, new_calls: Sequence[NewCall] = ()) -> list[Call]:
        """The same inside a commit that does more."""
        added = self._messages[self._committed :]
        if not added:
            return []
        made = journal.append(tx, self.hold, added, new_calls=new_calls, working_ms=self.working_ms)
        if self.is_turn:
            self._show(tx, added)
        self._add_spend(tx, self._unspent)
        if self._answered is not None:
            add_model_request(tx, self.run.id, self._answered)
        return made

    def _show(self, tx: Tx, added: Sequence[Message]) -> None:
        """Adds answers to what people see of the session; one that is meant for nobody is kept hidden."""
        for message in added:
            [response] = self._parsed[message.position][-1:]
            if response.kind == "response":
                self._show_answer(tx, message, answer_of(response), calls=bool(response.tool_calls))
        if self.context.report is not None:
            tx.update(sessions, {"key": self.run.session_key}, context_report=self.context.report)

    def _show_answer(self, tx: Tx, message: Message, said: ModelAnswer, *, calls: bool) -> None:
        sent = self._sent.get(message.position)
        held_back = sent is not None and bool(sent.cancelled_by)
        answer = said if sent is None or held_back else as_sent(said, sent)
        media = [self._redact(each) for each in answer.media]
        item = NewItem(
            "assistant",
            self._redact(answer.text),
            self._redact(answer.reasoning),
            attachments=json.dumps({"media": media}, ensure_ascii=False) if media else None,
            run_id=self.run.id,
            run_position=message.position,
            hidden=int(self._hidden or held_back or (answer.is_silent and not calls)),
        )
        position = add_item(tx, self.run.session_key, item)
        if sent is not None and held_back:
            add_item(tx, self.run.session_key, _held_back(sent))
        elif not item.hidden and (item.text or media):
            words = ChatWords(item.text, tuple(media), answer.reply_to, answer.as_voice)
            self._tell_shown(tx, position, words)

    def _tell_shown(self, tx: Tx, position: int, words: ChatWords) -> None:
        if self._chat is not None:
            tell_chat(tx, self.run, self._chat, position, words)
        elif self.on_shown is not None and words.text:
            tx.after_commit(partial(self.on_shown, words.text))

    def _add_spend(self, tx: Tx, used: Spent) -> None:
        """To the run, and to the session in which it is a turn, whether people see what it was spent on or
        not."""
        if used.tokens or used.tool_calls:
            add_spend(tx, self.run.expert, self.run.id, used)
        if used.tokens and self.run.transcript is not None:
            count_tokens(tx, self.run.session_key, used)

    def _mark_committed(self) -> None:
        self._committed = len(self._messages)
        self._unspent, self._answered = Spent(), None

    def _add(self, messages: list[ModelMessage]) -> None:
        position = len(self._messages)
        body = to_json(messages)
        self._messages.append(Message(self.session, position, body, self._parent_call, self.run.attempt))
        self._parsed.append(messages)

    async def spent(self) -> tuple[Spent, Spent]:
        """What this run and its expert's day have cost. Raises Fenced when the run is no longer ours."""

        def work(tx: Tx) -> tuple[Spent, Spent]:
            run = fenced(tx, self.hold)
            return spent_by_run(tx, run.id), spent_today(tx, run.expert)

        return await self._database.write(work)

    async def live_grants(self) -> list[Grant]:
        """Those for this run, not yet compared with what is called."""
        return await self._database.read(lambda tx: live_grants(tx, self.run.expert, self.run.id))

    async def wait(self, asks: Sequence[Ask]) -> bool:
        """Raises questions and lets go of the run; False when it can go on at once."""
        waits = await self.write(lambda tx: wait(tx, self.hold, asks, working_ms=self.working_ms))
        await self.refresh()
        return waits

    def side(self, name: str) -> Conversation:
        """A conversation inside this run that nobody sees, with a transcript of its own."""
        return Conversation(self._database, self._taken, name, parent_call=name, stopwatch=self._stopwatch)

    @property
    def stored(self) -> Sequence[tuple[Message, list[ModelMessage]]]:
        """What was said in this run so far, without the results of calls."""
        return list(zip(self._messages, self._parsed, strict=True))


def _as_answered(response: ModelResponse, sent: TextChange) -> ModelResponse:
    """With what people were told of it: whoever shows the run shows that. No model is sent it."""
    return replace(response, metadata={**(response.metadata or {}), SENT: sent.refusal or sent.text})


def _held_back(sent: TextChange) -> NewItem:
    """Instead of an answer that a plugin held back. It is news to the agent, too: it belongs to no run."""
    return NewItem("event", sent.refusal, source=f"plugin:{sent.cancelled_by}")


def _request(content: Content) -> list[ModelMessage]:
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    return [ModelRequest(parts=[UserPromptPart(content=content)])]
