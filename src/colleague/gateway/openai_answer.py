"""What an agent or an expert answers, in the shapes of OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from colleague.errors import ColleagueError
from colleague.event_subscription import Callbacks, EventSubscription
from colleague.gateway.api_error import ApiError, for_path, refusal_of
from colleague.gateway.openai_request import ChatTurn
from colleague.gateway.streams import BEATS, STILL_HERE
from colleague.reply_words import PartialReply
from colleague.run_document import ApprovalDocument, RunDocument, short
from colleague.run_event import RunEvent
from colleague.runtime.local_service import LocalService
from colleague.runtime.requests import RunRequest, SentMessage, TurnAnswer
from colleague.silent_answer import shown_answer

TURN_SECONDS = 3600.0
"""How long an answer is waited for; the work goes on after that."""
PATH = "/v1/chat/completions"


@dataclass(frozen=True)
class AcceptedTurn:
    """A request that is stored now."""

    turn: ChatTurn
    model: str
    event_id: str
    run_id: str | None
    sent: SentMessage | None = None
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def id(self) -> str:
        return f"chatcmpl-{self.event_id}"

    @property
    def streams(self) -> bool:
        """Whether the words of the run are those of this answer, from the first on. An expert's answer is
        what it completes its task with."""
        return (
            not self.turn.expert and self.sent is not None and self.sent.queued in ("started", "interrupted")
        )


async def accept_turn(service: LocalService, turn: ChatTurn, model: str) -> AcceptedTurn:
    """Stores the message, or the task of an expert. Raises ApiError when it is not taken."""
    if turn.expert and not turn.kept:
        started = await service.start(RunRequest(turn.expert, task=turn.task))
        return AcceptedTurn(turn, model, started.event_id, started.run_id)
    message = replace(turn.message, text=turn.task) if turn.expert else turn.message
    sent = await service.send(turn.session, message)
    if sent.queued in ("denied", "dropped"):
        status = 403 if sent.queued == "denied" else 429
        raise ApiError(status, f"message-{sent.queued}", f"the message was {sent.queued}: {sent.reason}")
    return AcceptedTurn(turn, model, sent.event_id, sent.run_id, sent)


async def whole_answer(service: LocalService, accepted: AcceptedTurn) -> dict[str, Any]:
    """The answer in one document. Raises ApiError."""
    answer = await _come_out(service, accepted)
    text = _paragraphs(shown_answer(answer.text).text, _questions(answer))
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {
        **_head(accepted, "chat.completion"),
        "choices": [choice],
        "usage": await _usage(service, answer.run_id),
        "colleague": _more(accepted, answer),
    }


async def answer_stream(service: LocalService, accepted: AcceptedTurn, *, usage: bool) -> AsyncIterator[str]:
    """The answer as it comes, as chunks; an error that comes later is a chunk, too."""
    yield _chunk(accepted, {"role": "assistant", "content": ""})
    streamed = StreamedText()
    try:
        if accepted.streams:
            async for piece in _pieces(service, str(accepted.run_id), streamed):
                yield _chunk(accepted, {"content": piece}) if piece else STILL_HERE
        answer = await _come_out(service, accepted)
        words = "" if streamed.begun else shown_answer(answer.text).text
        if rest := _paragraphs(words, _questions(answer)):
            yield _chunk(accepted, {"content": f"\n\n{rest}" if streamed.begun else rest})
        yield _chunk(accepted, {}, finish_reason="stop", colleague=_more(accepted, answer))
        if usage:
            spent = await _usage(service, answer.run_id)
            yield _data({**_head(accepted, "chat.completion.chunk"), "choices": [], "usage": spent})
    except (ApiError, ColleagueError) as error:
        refusal = refusal_of(error) if isinstance(error, ColleagueError) else error
        yield _data(for_path(refusal, PATH).document)
    yield "data: [DONE]\n\n"


class StreamedText:
    """What is sent of the words of a run: several messages of a turn stand in paragraphs of their own."""

    def __init__(self) -> None:
        self.begun = False
        self._fresh: list[str] = []
        self._subscription = EventSubscription(Callbacks(on_partial_reply=self._add))

    def add(self, event: RunEvent) -> str:
        """What can be sent now."""
        self._subscription.take(event)
        fresh, self._fresh = "".join(self._fresh), []
        return fresh

    def _add(self, part: PartialReply) -> None:
        between = "\n\n" if self.begun and part.begins else ""
        self.begun = True
        self._fresh.append(between + part.text)


async def _pieces(service: LocalService, run_id: str, streamed: StreamedText) -> AsyncIterator[str]:
    """The words of a run as they come; empty when nothing does for a while."""
    silent = 0
    async with contextlib.aclosing(service.events(run_id, service.watchers)) as events:
        async for event in events:
            silent = 0 if event else silent + 1
            if event is None:
                if silent % BEATS == 0:
                    yield ""
                continue
            if piece := streamed.add(event):
                yield piece
            if event.is_rest:
                return


async def _come_out(service: LocalService, accepted: AcceptedTurn) -> TurnAnswer:
    """How it came out. Raises ApiError when it failed or takes too long.

    Clients send again what ends with 409 or from 500 on, and this was taken: so it is neither."""
    if accepted.sent is not None:
        answer = await service.turn_answer(accepted.sent, TURN_SECONDS)
    else:
        answer = await _expert_answer(service, str(accepted.run_id))
    if answer is None:
        raise ApiError(
            422, "turn-unfinished", f"there is no answer after {TURN_SECONDS:g} s; the work goes on"
        )
    if answer.outcome in (None, "completed") and answer.status != "skipped":
        return answer
    what = answer.error or f"the turn was {answer.outcome or answer.status}"
    raise ApiError(422, "turn-failed", what, more={"run_id": answer.run_id})


async def _expert_answer(service: LocalService, run_id: str) -> TurnAnswer | None:
    try:
        async with (
            asyncio.timeout(TURN_SECONDS),
            contextlib.aclosing(service.events(run_id, service.watchers)) as events,
        ):
            async for event in events:
                if event is not None and event.is_rest:
                    break
    except TimeoutError:
        return None
    document = await service.run(run_id)
    asked = [await service.approval(each) for each in document["waiting_on"]]
    return TurnAnswer(
        run_id,
        document["status"],
        document["outcome"],
        document["narrative"] or _standing(document),
        tuple(asked),
        document["error"],
    )


def _standing(document: RunDocument) -> str:
    """What is said of a run that has no words of its own yet."""
    if document["blocked_by"] is not None:
        return f"The work stands behind run {short(document['blocked_by'])}, which waits for a person."
    return "" if document["status"] == "done" else "The work waits for a person."


def _questions(answer: TurnAnswer) -> str:
    """Which questions wait for a person."""
    return "\n".join(_question(each) for each in answer.approvals)


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(each for each in texts if each)


def _question(approval: ApprovalDocument) -> str:
    return f"Waiting for a person: {approval['operation']} (approval {short(approval['id'])})."


def _more(accepted: AcceptedTurn, answer: TurnAnswer) -> dict[str, Any]:
    """Beside what OpenAI's answers have."""
    sent = accepted.sent
    return {
        "session_key": sent.session_key if sent and accepted.turn.kept else None,
        "event_id": accepted.event_id,
        "run_id": answer.run_id,
        "status": answer.status,
        "approvals": list(answer.approvals),
    }


async def _usage(service: LocalService, run_id: str | None) -> dict[str, int]:
    usage = (await service.run(run_id))["usage"] if run_id else None
    read, written = (usage["input_tokens"], usage["output_tokens"]) if usage else (0, 0)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _head(accepted: AcceptedTurn, kind: str) -> dict[str, Any]:
    return {"id": accepted.id, "object": kind, "created": accepted.created, "model": accepted.model}


def _chunk(
    accepted: AcceptedTurn, delta: dict[str, Any], finish_reason: str | None = None, **more: Any
) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
    return _data({**_head(accepted, "chat.completion.chunk"), "choices": [choice], **more})


def _data(document: dict[str, Any]) -> str:
    return f"data: {json.dumps(document, ensure_ascii=False, default=str)}\n\n"
