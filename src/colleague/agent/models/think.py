"""One request to a model, streamed."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from colleague.agent.models.classify import cut_off, failure_of
from colleague.agent.models.connections import Connections
from colleague.agent.models.delta import Delta, OnDelta, TextDelta, ThinkingDelta, ToolCallDelta
from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.messages import with_shown_names
from colleague.agent.models.reply import Reply, cost_of, usage_of
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.request_params import ProviderRequest, provider_request
from colleague.agent.models.request_watch import TryWatch
from colleague.agent.models.resolved import ResolvedModel, Usage
from colleague.agent.models.tool_name import ProviderToolNames

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent


async def think(
    model: ResolvedModel,
    request: ThinkRequest,
    on_delta: OnDelta | None = None,
    *,
    connections: Connections | None = None,
) -> Reply:
    """Asks once. Raises ModelFailure; a half answer is never returned.

    Without `connections` a connection is opened and closed for this request alone. Cancelling the task
    cancels the request at the provider. What `on_delta` raises ends the request and comes out unchanged.
    """
    if connections is None:
        async with Connections() as own:
            return await think(model, request, on_delta, connections=own)
    if connections.tokens is not None:
        model = await connections.tokens.fresh(model)
    watch = request.watch.begin(model) if request.watch is not None else None
    if watch is None:
        return await _ask(model, request, on_delta, connections)
    try:
        reply = await _ask(model, request, on_delta, connections, watch)
    except BaseException as error:
        watch.failed(error)
        raise
    watch.answered(reply)
    return reply


async def _ask(
    model: ResolvedModel,
    request: ThinkRequest,
    on_delta: OnDelta | None,
    connections: Connections,
    watch: TryWatch | None = None,
) -> Reply:
    started = time.monotonic()
    asking = _Asking(model)
    with asking:
        asking.request = provider_request(model, await connections.open(model), request)
    async with aclosing(asking.deltas()) as deltas:
        async for delta in deltas:
            if watch is not None:
                watch.delta(delta)
            await _tell(on_delta, delta)
    return asking.reply(time.monotonic() - started)


async def _tell(on_delta: OnDelta | None, delta: Delta) -> None:
    if on_delta is not None and inspect.isawaitable(waiting := on_delta(delta)):
        await waiting


class _Asking:
    """A request under way. Inside `with asking:` every error is the provider's: a ModelFailure."""

    request: ProviderRequest

    def __init__(self, model: ResolvedModel) -> None:
        self._model = model
        self._streamed = False
        self._response: ModelResponse | None = None
        self._partial: ModelResponse | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The cause is left out: it may hold the key."""
        if isinstance(error, Exception):
            raise self._counted(failure_of(self._model, error, streamed=self._streamed)) from None

    def _counted(self, failure: ModelFailure) -> ModelFailure:
        """With what the provider has counted so far, which is to be paid for."""
        partial = self._partial
        if partial is not None and self._model.counts_tokens and (partial.usage.has_values()):
            failure.usage, failure.cost = usage_of(partial), cost_of(self._model, partial)
        return failure

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """None at all from a model that answers in one piece."""
        from pydantic_ai.direct import model_request_stream

        if not self._model.streaming:
            await self._ask_whole()
            return
        with self:
            async with model_request_stream(
                self.request.client,
                self.request.messages,
                model_settings=self.request.settings,
                model_request_parameters=self.request.parameters,
            ) as stream:
                reading = _Reading(self.request.names)
                try:
                    async for event in stream:
                        if (delta := reading.delta(event)) is not None:
                            self._streamed = True
                            yield delta
                finally:
                    with suppress(Exception):  # only for the count; what failed is told by its own error
                        self._partial = stream.get()
                self._response = stream.get()

    async def _ask_whole(self) -> None:
        from pydantic_ai.direct import model_request

        with self:
            self._response = self._partial = await model_request(
                self.request.client,
                self.request.messages,
                model_settings=self.request.settings,
                model_request_parameters=self.request.parameters,
            )

    def reply(self, seconds: float) -> Reply:
        response = self._whole()
        return Reply(
            with_shown_names(response, self.request.names),
            usage_of(response) if self._model.counts_tokens else Usage(),
            cost_of(self._model, response),
            response.finish_reason or ("tool_call" if response.tool_calls else "stop"),
            self.request.thinking,
            seconds,
            self._model.name,
            self._model.profile,
        )

    def _whole(self) -> ModelResponse:
        response = self._response
        if response is None or response.state != "complete":
            raise self._cut("the stream ended too early")
        if response.finish_reason is None and self._model.stand_in is None:
            raise self._cut("the stream ended without a reason")
        if response.finish_reason == "error":
            raise self._cut("the model ended with an error")
        return response

    def _cut(self, what: str) -> ModelFailure:
        return self._counted(cut_off(self._model, what, streamed=self._streamed))


class _Reading:
    """From the library's events to ours. The first piece of a part comes with its start."""

    def __init__(self, names: ProviderToolNames) -> None:
        self._names = names
        self._calls: dict[int, tuple[str, str]] = {}

    def delta(self, event: ModelResponseStreamEvent) -> Delta | None:
        if event.event_kind == "part_start":
            return self._start(event.index, event.part)
        if event.event_kind == "part_delta":
            return self._more(event.index, event.delta)
        return None

    def _start(self, index: int, part: Any) -> Delta | None:
        if part.part_kind == "tool-call":
            self._calls[index] = part.tool_call_id, self._names.shown(part.tool_name)
            return ToolCallDelta(index, *self._calls[index], _json(part.args))
        return _delta_of(part.part_kind, index, getattr(part, "content", None))

    def _more(self, index: int, delta: Any) -> Delta | None:
        if delta.part_delta_kind == "tool_call":
            return ToolCallDelta(index, *self._calls.get(index, ("", "")), _json(delta.args_delta))
        return _delta_of(delta.part_delta_kind, index, delta.content_delta)


def _delta_of(kind: str, index: int, text: Any) -> Delta | None:
    if not text or not isinstance(text, str):
        return None
    if kind == "text":
        return TextDelta(index, text)
    return ThinkingDelta(index, text) if kind == "thinking" else None


def _json(arguments: str | dict[str, Any] | None) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
