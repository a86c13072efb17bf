"""The `gateway` tool: an agent sees how its runtime stands."""

from __future__ import annotations

import json

from colleague import __version__
from tests.conftest import Colleague
from tests.office import call


def test_an_agent_sees_how_its_runtime_stands(colleague: Colleague) -> None:
    colleague.home.mkdir(parents=True, exist_ok=True)
    play = colleague.home / "play.yaml"
    play.write_text(json.dumps({"replies": [call("gateway"), {"text": "All is well."}]}))
    colleague.ok("agent", "how are you?", "--model", f"script/{play}")
    run = colleague.ok("run", "list", "--limit", "1", "--json").json[0]
    [made] = colleague.ok("run", "show", run["id"], "--json").json["calls"]
    found = json.loads(made["result"]["text"])
    assert made["tier"] == "auto"
    assert (found["version"], found["gateway"], found["runs"]) == (__version__, None, {"running": 1})
    assert found["waiting_questions"] == {}
