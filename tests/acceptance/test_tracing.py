"""Seeing inside, from the outside: each switch, what is in each file, what is never in one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.provider import KEY, OVERLOADED, Provider, providing, use
from tests.conftest import Colleague, Said
from tests.integration.models import anthropic_wire, openai_wire
from tests.integration.models.server import Stream
from tests.office import Office, call

SWITCHES = {
    "OPENCLAW_ANTHROPIC_PAYLOAD_LOG": "1",
    "OPENCLAW_RAW_STREAM": "1",
    "OPENCLAW_CACHE_TRACE": "1",
    "OPENCLAW_CACHE_TRACE_SYSTEM": "1",
    "OPENCLAW_CACHE_TRACE_PROMPT": "1",
    "OPENCLAW_DEBUG_MODEL_PAYLOAD": "full-redacted",
}
LOOKS = Stream(
    [
        *openai_wire.spoken("<think>hm</think>Let ", "me look. The key is ", KEY[:12], KEY[12:], "."),
        openai_wire.call(0, '{"path": ', name="ls", call_id="c1"),
        openai_wire.call(0, '"."}'),
        openai_wire.chunk({}, "tool_calls"),
        openai_wire.usage(100, 20, 64),
        openai_wire.DONE,
    ]
)
DONE = Stream(openai_wire.said("Done."))


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def files(colleague: Colleague) -> set[str]:
    logs = colleague.home / "logs"
    return {str(file.relative_to(logs)) for file in logs.rglob("*") if file.is_file()} - {"colleague.jsonl"}


def kinds(lines: list[dict[str, Any]], name: str = "type") -> list[str]:
    return [each[name] for each in lines]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Colleague, Said]]:
    """One turn over the wire with everything switched on, whose model tells its own key in two pieces."""
    colleague = Colleague(tmp_path_factory.mktemp("traced") / "home")
    with providing(OVERLOADED, LOOKS, DONE) as provider:
        use(colleague, provider)
        yield colleague, colleague.ok("agent", "look around", **SWITCHES)


def test_every_file_is_its_owners_alone(traced: tuple[Colleague, Said]) -> None:
    colleague, _ = traced
    assert files(colleague) == {
        "trajectory/agent_main_main.jsonl",
        "local-payload.jsonl",
        "raw-stream.jsonl",
        "cache-trace.jsonl",
    }
    paths = [colleague.home / "logs" / name for name in files(colleague)]
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}
    assert (colleague.home / "logs" / "trajectory").stat().st_mode & 0o777 == 0o700


def test_no_trace_has_the_key(traced: tuple[Colleague, Said]) -> None:
    colleague, said = traced
    texts = {name: (colleague.home / "logs" / name).read_text() for name in files(colleague)}
    assert [name for name, text in texts.items() if KEY in text or KEY[3:] in text] == []
    assert all("[hidden]" in text for text in texts.values())
    assert KEY not in said.err
    assert "[hidden]" in said.err


def test_a_trajectory_tells_what_was_said_and_done(traced: tuple[Colleague, Said]) -> None:
    colleague, _ = traced
    head, *lines = read(colleague.home / "logs" / "trajectory" / "agent_main_main.jsonl")
    assert head == {"type": "trajectory", "version": 1, "session": "agent:main:main"}
    assert kinds(lines) == [
        *("run", "message", "failure", "retry"),
        *("message", "tool_call", "tool_result", "message", "end"),
    ]
    assert len({each["run"] for each in lines}) == 1
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", each["at"]) for each in lines)
    run, told, failure, _, answer, called, result, last, end = lines
    assert (run["agent"], run["attempt"]) == ("main", 1)
    assert (told["role"], told["content"]) == ("user", "look around")
    assert "Overloaded" in failure["error"]
    assert answer["content"] == "<think>hm</think>Let me look. The key is [hidden]."
    assert answer["model"] == "local/m1"
    assert answer["usage"] == {
        "input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 64, "cache_write_tokens": 0,
    }  # fmt: skip
    assert answer["tool_calls"] == [{"id": "c1", "name": "ls", "arguments": {"path": "."}}]
    assert (called["id"], called["name"], called["arguments"]) == ("c1", "ls", {"path": "."})
    assert (result["id"], result["is_error"]) == ("c1", False)
    assert last["content"] == "Done."
    assert end["outcome"] == "completed"
    assert end["usage"]["input_tokens"] == 200


def test_the_payload_log_has_each_whole_request(traced: tuple[Colleague, Said]) -> None:
    colleague, _ = traced
    failed, first, second = read(colleague.home / "logs" / "local-payload.jsonl")
    assert failed["response"] is None
    assert "Overloaded" in failed["error"]
    assert first["system"]
    [tool] = [each for each in first["tools"] if each["name"] == "ls"]
    assert tool["description"]
    assert tool["parameters"]["type"] == "object"
    assert first["messages"][-1]["parts"][0]["content"] == "look around"
    assert second["response"][0]["parts"][0]["content"] == "Done."
    assert second["usage"]["input_tokens"] == 100


def test_the_raw_stream_has_the_events_and_the_pieces(traced: tuple[Colleague, Said]) -> None:
    colleague, _ = traced
    lines = read(colleague.home / "logs" / "raw-stream.jsonl")
    told = [each["event"] for each in lines if each["event"] != "delta"]
    assert told[:3] == ["agent_start", "message_start", "message_retry"]
    assert "tool_execution_end" in told
    assert told[-1] == "agent_end"
    pieces = [each for each in lines if each["event"] == "delta"]
    asked = [each["text"] for each in pieces if each["kind"] == "tool_call"]
    assert '"."}' in asked, "each piece as it came"
    [whole] = [each for each in pieces if "pieces" in each]
    assert whole["text"] == "<think>hm</think>Let me look. The key is [hidden]."


def test_the_cache_trace_shows_what_stayed_the_same(traced: tuple[Colleague, Said]) -> None:
    colleague, _ = traced
    _, first, second = read(colleague.home / "logs" / "cache-trace.jsonl")
    assert first["usage"]["cache_read_tokens"] == 64
    assert first["reused"] == 0.64
    assert first["system"]["digest"] == second["system"]["digest"]
    assert first["tools"]["digest"] == second["tools"]["digest"]
    assert (second["unchanged_messages"], second["first_change"]) == (1, None)
    assert second["system"]["text"]
    assert len(second["messages"]["each"]) == second["messages"]["count"] == 3


def test_the_payload_on_stderr_is_one_block_for_each_call(traced: tuple[Colleague, Said]) -> None:
    _, said = traced
    assert said.err.count("[model payload]") == 3
    assert '"system":' in said.err


def test_anthropic_has_a_file_of_its_own_and_breakpoints(colleague: Colleague) -> None:
    answer = Stream(
        [
            anthropic_wire.started(read=40, written=8),
            *anthropic_wire.text(0, "Hello."),
            *anthropic_wire.ended(),
        ]
    )
    with providing(answer) as provider:
        use(colleague, provider, models={"providers": {"anthropic": anthropic(provider)}})
        settings = json.loads((colleague.home / "colleague.json").read_text())
        settings["agents"]["defaults"]["model"]["primary"] = "anthropic/m1"
        (colleague.home / "colleague.json").write_text(json.dumps(settings))
        colleague.ok("agent", "hi", OPENCLAW_ANTHROPIC_PAYLOAD_LOG="1", OPENCLAW_CACHE_TRACE="1")
        sent = provider.wire.requests[0].body
    assert files(colleague) >= {"anthropic-payload.jsonl", "cache-trace.jsonl"}
    [line] = read(colleague.home / "logs" / "cache-trace.jsonl")
    assert line["breakpoints"] == ["tools", "system", "message 1"]
    assert "cache_control" in sent["tools"][-1]
    assert "cache_control" in sent["system"][0]
    assert "cache_control" in sent or "cache_control" in sent["messages"][-1]["content"][-1]
    assert line["usage"]["cache_read_tokens"] == 40
    assert line["usage"]["cache_write_tokens"] == 8
    assert "text" not in line["system"]
    assert "each" not in line["messages"]


def anthropic(provider: Provider) -> dict[str, object]:
    model = {"id": "m1", "maxTokens": 1000}
    return {"baseUrl": provider.wire.url, "apiKey": KEY, "api": "anthropic-messages", "models": [model]}


@pytest.fixture
def office(colleague: Colleague) -> Office:
    return Office.open(colleague)


def turn(office: Office, *replies: dict[str, Any], **environment: str) -> Said:
    model = office.play(*(replies or [{"text": "Hello."}] * 3))
    return office.colleague("agent", "hi", "--model", model, **environment)


def test_only_trajectories_are_on_by_default_and_they_can_be_off_or_elsewhere(
    office: Office, tmp_path: Path
) -> None:
    assert turn(office, OPENCLAW_TRAJECTORY="0").code == 0
    assert not (office.colleague.home / "logs" / "trajectory").exists()
    elsewhere = tmp_path / "else" / "where"
    assert turn(office, OPENCLAW_TRAJECTORY_DIR=str(elsewhere)).code == 0
    assert [each.name for each in elsewhere.iterdir()] == ["agent_main_main.jsonl"]
    assert not (office.colleague.home / "logs" / "trajectory").exists()
    raw = tmp_path / "raw" / "mine.jsonl"
    said = turn(office, OPENCLAW_RAW_STREAM="1", OPENCLAW_RAW_STREAM_PATH=str(raw))
    assert said.code == 0
    assert kinds(read(raw), "event")[-1] == "agent_end"
    assert {name for name in files(office.colleague) if "mcp-" not in name} == {
        "trajectory/agent_main_main.jsonl"
    }


@pytest.mark.parametrize(
    ("mode", "shown", "hidden"),
    [("tools", "  ls ", "answer:"), ("summary", "answer: 6 characters, stop", "  ls ")],
)
def test_model_payloads_on_stderr(office: Office, mode: str, shown: str, hidden: str) -> None:
    said = turn(office, OPENCLAW_DEBUG_MODEL_PAYLOAD=mode)
    assert said.out == "Hello.\n"
    assert shown in said.err
    assert hidden not in said.err


def test_a_switch_that_says_nothing_useful_is_told(office: Office) -> None:
    said = turn(office, OPENCLAW_DEBUG_MODEL_PAYLOAD="everything")
    assert said.code == 0
    assert "one of: tools, summary, full-redacted" in said.err


def test_doctor_says_which_are_on(office: Office) -> None:
    checks = office.colleague("doctor", "--json", OPENCLAW_RAW_STREAM="1", OPENCLAW_CACHE_TRACE="jes").json
    told = [each for each in checks if each["about"] == "traces"]
    assert "trajectories in" in told[0]["message"]
    assert "raw-stream.jsonl" in told[0]["message"]
    assert "OPENCLAW_CACHE_TRACE is 'jes'" in told[1]["message"]


def test_a_place_that_cannot_be_written_stops_nothing_and_is_said_once(
    office: Office, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    said = turn(
        office,
        call("ls", "Looking.", path="."),
        {"text": "Hello."},
        OPENCLAW_TRAJECTORY_DIR=str(blocked),
        OPENCLAW_RAW_STREAM="1",
        OPENCLAW_RAW_STREAM_PATH="/dev/full",
    )
    assert said.code == 0
    assert said.out.endswith("Hello.\n")
    assert said.err.count("a trace cannot be written") == 2, "one for each thing that is wrong"
    assert "No space left on device" in said.err


def test_calls_that_are_not_made_have_a_result_too(office: Office) -> None:
    turn(
        office,
        call("nosuch", "Trying.", path="."),
        call("write", path="SOUL.md", text="x"),
        {"text": "It waits."},
    )
    lines = read(office.colleague.home / "logs" / "trajectory" / "agent_main_main.jsonl")
    results = [(each["name"], each["status"]) for each in lines if each["type"] == "tool_result"]
    assert results == [("nosuch", "refused"), ("write", "parked")]
    assert "approval" in kinds(lines)
