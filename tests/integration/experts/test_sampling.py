"""What an MCP server asks a model during a call is paid from the budget of the run that made the call."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.experts.package import Package, process
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, finished

SERVER = Path(__file__).parents[1] / "mcp" / "sampling_server.py"
TOOL = {
    "name": "poet",
    "description": "Poems",
    "operations": [
        {
            "name": "poem",
            "description": "Write",
            "input": {"times": "integer", "together": "boolean"},
            "output": {"text": "string"},
        }
    ],
}
VERSE = {"when": "SAMPLE", "text": "rain " * 600}
"""Dear: what the run says beside it costs a tenth of it."""
DONE = finished(steps=0)


async def write_poems(stage: Stage, kind: str, **budget: Any) -> None:
    entry = {"command": sys.executable, "args": ["-E", str(SERVER), kind], "sampling": {"allow": True}}
    stage.configure(mcp={"servers": {"poet": entry}})
    await stage.restart()
    files = {"tools/poet.yaml": yaml.safe_dump(TOOL), "processes/work.md": process(steps=(), tools=["poet"])}
    policy = {"approval": {"default": "auto"}}
    package = Package(files, {"requires": {"tools": ["poet"]}, "policy": policy})
    stage.install(package, tools={"poet": "poet"}, budget=budget)
    stage.play(call("poet.poem", times=3, together=True), DONE, VERSE, cost={"input": 0, "output": 1000})
    await stage.ask()
    await stage.go_on()


@pytest.mark.parametrize(("kind", "span"), [("old", "run"), ("new", "day")])
@on_stage
async def test_the_second_is_refused_when_the_first_used_the_budget_up(
    stage: Stage, kind: str, span: str
) -> None:
    await write_poems(stage, kind, **{span: {"cost": 0.5}})
    report = await stage.report()
    asked = [each["session"] for each in report["model_requests"]]
    assert asked.count("sampling@poet/poem") == 1, asked
    assert f"the budget of the {span} is used up" in str(report["calls"][0]["result"])
    assert report["usage"]["cost"] > 0.5
    assert report["outcome"] == "failed"
    assert f"the budget of the {span} is used up" in report["error"]


@on_stage
async def test_what_the_server_asked_counts_as_the_runs(stage: Stage) -> None:
    await write_poems(stage, "old", run={"cost": 50})
    report = await stage.report()
    assert report["outcome"] == "completed", report["error"]
    requests = report["model_requests"]
    sampled = [each for each in requests if each["session"] == "sampling@poet/poem"]
    assert len(sampled) == 3
    tokens = sum(each["output_tokens"] for each in requests)
    assert report["usage"]["output_tokens"] == tokens
    assert sum(each["output_tokens"] for each in sampled) > 0.9 * tokens
