"""OpenTelemetry spans with the GenAI names: invoke_agent for a run, chat for a model call, execute_tool for a
tool call. They hold names, numbers and errors, never what was said.

Nothing of OpenTelemetry is imported unless spans are switched on."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from colleague import __version__
from colleague.agent.tracing.notice import notice
from colleague.agent.tracing.record import Cleaner

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

    from colleague.agent.models.reply import Reply
    from colleague.agent.models.resolved import ResolvedModel
    from colleague.store.run import Run

EXTRA = "pip install 'colleague[otel]'"
CLOSE_SECONDS = 3.0
LONGEST_ERROR = 1000
_PROVIDERS = {
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
    "azure-openai": "azure.ai.openai",
    "amazon-bedrock": "aws.bedrock",
}
"""As the conventions call them, where that is another name than ours."""

Attributes = Mapping[str, str | int | float | bool | list[str]]


class SpanExport:
    """Sends spans to a collector over OTLP, in a thread of its own."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer: Tracer = provider.get_tracer("colleague", __version__)

    def run(self, run: Run, cleaner: Cleaner) -> RunSpans:
        about: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": run.expert,
            "gen_ai.conversation.id": run.session_key,
            "colleague.run.id": run.id,
            "colleague.run.attempt": run.attempt,
            "colleague.process": run.process,
        }
        span = self._tracer.start_span(f"invoke_agent {run.expert}", attributes=_known(about))
        return RunSpans(self._tracer, span, cleaner)

    def close(self) -> None:
        """Sends what is left, within a few seconds: a collector that is away holds nobody up."""
        closing = threading.Thread(target=self._provider.shutdown, name="spans", daemon=True)
        with contextlib.suppress(RuntimeError):  # no more threads
            closing.start()
            closing.join(CLOSE_SECONDS)


@dataclass
class RunSpans:
    """The spans of one run, from the moment a worker takes it until it lets go of it."""

    _tracer: Tracer
    _root: Span
    cleaner: Cleaner
    _tools: dict[str, Span] = field(default_factory=dict)

    def chat(self, model: ResolvedModel, session: str) -> ChatSpan:
        """A model call of a transcript: the run's, or that of a call which is a session of its own."""
        about: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(model.provider, model.provider),
            "gen_ai.request.model": model.id,
            "gen_ai.request.max_tokens": model.max_tokens,
            "gen_ai.request.stream": True,
            **_address(model),
        }
        self._root.set_attributes(
            {name: about[name] for name in ("gen_ai.provider.name", "gen_ai.request.model")}
        )
        return ChatSpan(self, self._begin(f"chat {model.id}", about, session, client=True))

    def tool_begins(self, call_id: str, operation: str, session: str, provider_call_id: str) -> None:
        self.tool_ends(call_id, error="unknown", text="it is not known whether this happened")
        about = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": operation,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": provider_call_id or call_id,
            "colleague.call.id": call_id,
        }
        self._tools[call_id] = self._begin(f"execute_tool {operation}", about, session)

    def tool_ends(self, call_id: str, *, error: str = "", text: str = "") -> None:
        """`error` is its kind; empty when all is well."""
        span = self._tools.pop(call_id, None)
        if span is not None:
            self.end(span, error, text)

    def ends(self, outcome: str, used: Attributes, *, error: str = "", text: str = "") -> None:
        for call_id in list(self._tools):
            self.tool_ends(call_id)
        self._root.set_attributes({"colleague.outcome": outcome, **used})
        self.end(self._root, error, text)

    def _begin(self, name: str, about: Mapping[str, Any], session: str, *, client: bool = False) -> Span:
        from opentelemetry.trace import SpanKind, set_span_in_context

        parent = set_span_in_context(self._tools.get(session, self._root))
        kind = SpanKind.CLIENT if client else SpanKind.INTERNAL
        return self._tracer.start_span(name, context=parent, kind=kind, attributes=_known(about))

    def end(self, span: Span, error: str, text: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        if error:
            span.set_attribute("error.type", error)
            span.set_status(Status(StatusCode.ERROR, self.cleaner.text(text)[:LONGEST_ERROR]))
        span.end()


@dataclass(frozen=True)
class ChatSpan:
    """One try to ask a model."""

    _spans: RunSpans
    _span: Span

    def answered(self, reply: Reply) -> None:
        used, response = reply.usage, reply.response
        about = {
            "gen_ai.response.id": response.provider_response_id,
            "gen_ai.response.model": response.model_name,
            "gen_ai.response.finish_reasons": [reply.finish_reason],
        }
        self._span.set_attributes(_known(about))
        if used.measured:
            self._span.set_attributes(
                usage_attributes(
                    used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens
                )
            )
        self._spans.end(self._span, "", "")

    def failed(self, kind: str, text: str) -> None:
        self._spans.end(self._span, kind, text)


def usage_attributes(taken: int, given: int, read: int, written: int) -> dict[str, int]:
    return {
        "gen_ai.usage.input_tokens": taken,
        "gen_ai.usage.output_tokens": given,
        "gen_ai.usage.cache_read.input_tokens": read,
        "gen_ai.usage.cache_creation.input_tokens": written,
    }


def open_spans() -> SpanExport | None:
    """By the variables of OpenTelemetry. None, said once, when it is not installed or does not start."""
    try:
        return SpanExport(_provider())
    except ImportError:
        notice(f"OpenTelemetry is not installed: {EXTRA}")
    except Exception as error:  # noqa: BLE001 - a wrong variable, a certificate that is not there
        notice(f"spans are not sent: {error}")
    return None


def _provider() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create(_service()), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _service() -> dict[str, Any]:
    """Our name and version, unless the environment says others."""
    own = {"service.name": "colleague", "service.version": __version__}
    said = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if os.environ.get("OTEL_SERVICE_NAME"):
        said += ",service.name="
    return {name: value for name, value in own.items() if f"{name}=" not in said}


def _address(model: ResolvedModel) -> dict[str, Any]:
    found = urlsplit(model.base_url or "")
    try:
        port = found.port
    except ValueError:
        port = None
    return {"server.address": found.hostname, "server.port": port}


def _known(about: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in about.items() if value is not None and value != ""}
