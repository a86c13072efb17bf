"""The `image` tool: a picture is shown to a model that sees, by a request like any other."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tests.acceptance.provider import KEY, Provider, providing
from tests.conftest import Colleague, Said
from tests.integration.models import openai_wire as wire
from tests.integration.models.server import Page, Stream
from tests.office import calls
from tests.unit.pictures.samples import png


def set_up(colleague: Colleague, provider: Provider) -> None:
    entry = {
        "baseUrl": f"{provider.wire.url}/v1",
        "apiKey": KEY,
        "api": "openai-completions",
        "models": [{"id": "eye", "input": ["text", "image"]}],
    }
    settings = {
        "agents": {"defaults": {"imageModel": {"primary": "local/eye"}}},
        "models": {"providers": {"local": entry}},
    }
    workspace = colleague.home / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "red.png").write_bytes(png())
    (colleague.home / "colleague.json").write_text(json.dumps(settings))


def ask(colleague: Colleague, *images: str) -> Said:
    play = colleague.home / "play.yaml"
    asked = calls(*(("image", {"image": each, "prompt": "Which colour?"}) for each in images))
    play.write_text(json.dumps({"replies": [asked, {"text": "I looked."}]}))
    return colleague("agent", "which colour is it?", "--model", f"script/{play}")


def last_run(colleague: Colleague) -> dict[str, Any]:
    run = colleague.ok("run", "list", "--limit", "1", "--json").json[0]
    document: dict[str, Any] = colleague.ok("run", "show", run["id"], "--json").json
    return document


def test_a_picture_is_asked_about(colleague: Colleague) -> None:
    with providing(Stream(wire.said("It is red."))) as provider:
        set_up(colleague, provider)
        said = ask(colleague, "red.png")
        [request] = provider.wire.requests
    assert said.out == "I looked.\n", "what the other model says is for the agent alone"
    run = last_run(colleague)
    [made] = run["calls"]
    assert (made["operation"], made["tier"], made["status"]) == ("image", "auto", "finished")
    assert "It is red." in str(made["result"])
    assert base64.b64encode(png()).decode() in json.dumps(request.body)
    assert "Which colour?" in json.dumps(request.body)
    assert run["usage"]["input_tokens"] >= 100, "what it used counts"


def test_what_goes_wrong_is_told_to_the_agent(colleague: Colleague, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(png())
    with providing(Page(401, wire.error("no such key"))) as provider:
        set_up(colleague, provider)
        reasons = {
            "red.png": "no such key",
            "none.png": "There is no none.png",
            str(tmp_path / "secret.png"): "outside of the agent's folder",
            f"{provider.wire.url}/red.png": "no public address",
            "AGENTS.md": "AGENTS.md",
        }
        assert ask(colleague, *reasons).out == "I looked.\n"
        assert provider.requests == 1
    for made in last_run(colleague)["calls"]:
        assert reasons[made["arguments"]["image"]] in str(made["result"])


def test_without_a_model_that_sees_it_is_not_offered(colleague: Colleague) -> None:
    colleague.home.mkdir(parents=True, exist_ok=True)
    ask(colleague, "red.png")
    assert "there is no tool 'image'" in str(last_run(colleague)["calls"])
