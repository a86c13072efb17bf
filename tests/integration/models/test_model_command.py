"""colleague model ..., as a person types it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.conftest import Colleague, Said
from tests.integration.models import openai_wire as wire

KEY = "local-key-0123456789"


async def completions(request: Request) -> Response:
    body = await request.json()
    if body["model"] == "refused":
        return JSONResponse(wire.error(f"wrong key {KEY}"), status_code=401)
    return StreamingResponse(iter(wire.said("rea", "dy")), media_type="text/event-stream")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    app = Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    server.should_exit = True
    thread.join()


@pytest.fixture
def home(tmp_path: Path, address: str) -> Colleague:
    colleague = Colleague(tmp_path / "home")
    colleague.home.mkdir()
    models = [{"id": "m1", "contextWindow": 9000, "cost": {"input": 3, "output": 15}}, {"id": "refused"}]
    local = {"baseUrl": address, "apiKey": "${LOCAL_KEY}", "api": "openai-completions", "models": models}
    tree = {"agents": {"defaults": {"model": "local/m1"}}, "models": {"providers": {"local": local}}}
    (colleague.home / "colleague.json").write_text(json.dumps(tree))
    return colleague


def run(colleague: Colleague, *arguments: str, **environment: str) -> Said:
    unset = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"), "")
    said = colleague("model", *arguments, **{**unset, "LOCAL_KEY": KEY, **environment})
    assert KEY not in said.out + said.err
    return said


def test_list(home: Colleague) -> None:
    said = run(home, "list", OPENAI_API_KEY="o")
    assert said.code == 0, said.err
    rows = {line.split()[0]: line for line in said.out.splitlines()}
    assert "*" in rows["local/m1"]
    assert "9000" in rows["local/m1"]
    assert "set (OPENAI_API_KEY)" in rows["openai/gpt-5-mini"]
    assert "missing (ANTHROPIC_API_KEY)" in rows["anthropic/claude-sonnet-4-5"]


def test_list_as_json(home: Colleague) -> None:
    listed = {model["name"]: model for model in run(home, "list", "--json", LOCAL_KEY="").json}
    assert listed["local/m1"]["default"] is True
    assert listed["local/m1"]["key"] == "missing"
    assert "LOCAL_KEY is not set" in listed["local/m1"]["problem"]
    assert listed["openai/gpt-5-mini"]["origin"] == "built-in"


def test_list_without_any_model(tmp_path: Path) -> None:
    said = run(Colleague(tmp_path / "empty"), "list")
    assert said.code == 0
    assert "no model configured" in said.err


def test_probe(home: Colleague) -> None:
    said = run(home, "probe")
    assert said.code == 0, said.err
    assert "local/m1 answered in" in said.out
    assert "ready" in said.out
    assert "100 tokens in, 20 out, $0.0006" in said.out


def test_probe_that_is_refused(home: Colleague) -> None:
    said = run(home, "probe", "local/refused")
    assert (said.code, said.out) == (1, "")
    assert "does not accept the key (401): wrong key [hidden]" in said.err
    assert "models.providers.local.apiKey" in said.err
    assert "Traceback" not in said.err


def test_probe_of_a_script_as_json(home: Colleague) -> None:
    (home.home.parent / "talk.yaml").write_text("- text: always ready\n")
    answer = run(home, "probe", "script/talk.yaml", "--json").json
    assert (answer["ok"], answer["model"], answer["answer"]) == (True, "script/talk.yaml", "always ready")
    assert answer["input_tokens"] > 0
    assert answer["output_tokens"] > 0
    assert answer["cost"] == 0
    assert answer["seconds"] > 0


def test_probe_that_fails_as_json(home: Colleague) -> None:
    failed = run(home, "probe", "locl/m1", "--json")
    assert (failed.code, failed.err) == (1, "")
    assert failed.json["ok"] is False
    assert failed.json["error"]["hint"] == "did you mean 'local'?"


def test_probe_without_any_model(tmp_path: Path) -> None:
    said = run(Colleague(tmp_path / "empty"), "probe")
    assert said.code == 1
    assert "no model configured" in said.err
    assert "ANTHROPIC_API_KEY" in said.err
