"""OpenTelemetry spans as a collector receives them: OTLP over HTTP, decoded with the protocol's own types."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.acceptance.provider import KEY, OVERLOADED, providing, use
from tests.acceptance.test_tracing import DONE, LOOKS
from tests.conftest import Colleague
from tests.integration.models import openai_wire
from tests.integration.models.server import Page

REFUSED = Page(401, openai_wire.error(f"Incorrect API key provided: {KEY}"))


class Collector:
    """Keeps what it is sent."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[ExportTraceServiceRequest] = []
        self.raw = b""

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def switches(self) -> dict[str, str]:
        return {"COLLEAGUE_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": self.url}


@contextmanager
def collecting() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert (self.path, self.headers["content-type"]) == ("/v1/traces", "application/x-protobuf")
            collector.raw += body
            collector.requests.append(ExportTraceServiceRequest.FromString(body))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join(120)


def about(span: Span) -> dict[str, Any]:
    def value(one: Any) -> Any:
        kind = one.WhichOneof("value")
        found = getattr(one, kind)
        return [value(each) for each in found.values] if kind == "array_value" else found

    return {each.key: value(each.value) for each in span.attributes}


def test_a_run_is_a_tree_of_spans_with_the_genai_names(colleague: Colleague) -> None:
    with collecting() as collector, providing(OVERLOADED, LOOKS, DONE) as provider:
        use(colleague, provider)
        colleague.ok("agent", "look around", **collector.switches())
        spans = collector.spans
    [root] = [each for each in spans if not each.parent_span_id]
    assert root.name == "invoke_agent main"
    assert {each.trace_id for each in spans} == {root.trace_id}
    children = sorted(
        (each for each in spans if each is not root), key=lambda each: each.start_time_unix_nano
    )
    assert [each.name for each in children] == ["chat m1", "chat m1", "execute_tool ls", "chat m1"]
    assert {each.parent_span_id for each in children} == {root.span_id}

    whole = about(root)
    assert whole["gen_ai.operation.name"] == "invoke_agent"
    assert whole["gen_ai.agent.name"] == "main"
    assert whole["gen_ai.conversation.id"] == "agent:main:main"
    assert whole["gen_ai.usage.input_tokens"] == 200
    assert whole["colleague.outcome"] == "completed"
    assert root.status.code == Status.STATUS_CODE_UNSET

    failed, asked, tool, _ = children
    assert failed.status.code == Status.STATUS_CODE_ERROR
    assert about(failed)["error.type"]
    assert asked.kind == Span.SPAN_KIND_CLIENT
    chat = about(asked)
    assert chat["gen_ai.operation.name"] == "chat"
    assert chat["gen_ai.provider.name"] == "local"
    assert chat["gen_ai.request.model"] == chat["gen_ai.response.model"] == "m1"
    assert chat["gen_ai.response.id"] == "chatcmpl-1"
    assert chat["gen_ai.response.finish_reasons"] == ["tool_call"]
    assert chat["gen_ai.usage.input_tokens"] == 100
    assert chat["gen_ai.usage.output_tokens"] == 20
    assert chat["gen_ai.usage.cache_read.input_tokens"] == 64
    assert chat["server.address"] == "127.0.0.1"
    called = about(tool)
    assert called["gen_ai.operation.name"] == "execute_tool"
    assert called["gen_ai.tool.name"] == "ls"
    assert called["gen_ai.tool.call.id"] == "c1"

    [resource, *_] = [each.resource for each in collector.requests[0].resource_spans]
    assert {each.key: each.value.string_value for each in resource.attributes}["service.name"] == "colleague"
    assert b"look around" not in collector.raw, "spans hold nothing of what was said"
    assert KEY.encode() not in collector.raw


def test_a_run_that_fails_is_an_error_without_the_key(colleague: Colleague) -> None:
    with collecting() as collector, providing(REFUSED) as provider:
        use(colleague, provider)
        assert colleague("agent", "hi", **collector.switches()).code == 1
        spans = {each.name: each for each in collector.spans}
    assert spans["chat m1"].status.code == Status.STATUS_CODE_ERROR
    assert about(spans["chat m1"])["error.type"] == "auth"
    assert spans["invoke_agent main"].status.code == Status.STATUS_CODE_ERROR
    assert KEY.encode() not in collector.raw


def test_a_collector_that_is_away_holds_nobody_up(colleague: Colleague) -> None:
    with providing(DONE) as provider:
        use(colleague, provider)
        switches = {"COLLEAGUE_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
        said = colleague.ok("agent", "hi", **switches)
    assert said.out == "Done.\n"


def test_nothing_is_sent_without_the_switch(colleague: Colleague) -> None:
    with collecting() as collector, providing(DONE) as provider:
        use(colleague, provider)
        colleague.ok("agent", "hi", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
        assert collector.requests == []
        said = colleague.ok("agent", "hi", COLLEAGUE_OTEL="1")
    assert "does not say where spans go" in said.err
