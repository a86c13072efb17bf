"""The `gateway` tool: an agent sees how its runtime stands."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

from colleague import __version__
from tests.acceptance.test_with_gateway import serving
from tests.conftest import Colleague, Said
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


def turn(colleague: Colleague, action: str) -> Said:
    colleague.home.mkdir(parents=True, exist_ok=True)
    play = colleague.home / "play.yaml"
    play.write_text(
        json.dumps({"replies": [call("gateway", action=action), {"text": "So."}, {"text": "Yes."}]})
    )
    return colleague("agent", "look", "--model", f"script/{play}")


def last_call(colleague: Colleague) -> dict[str, Any]:
    run = colleague.ok("run", "list", "--limit", "1", "--json").json[0]
    [made] = colleague.ok("run", "show", run["id"], "--json").json["calls"]
    found: dict[str, Any] = made
    return found


def test_an_agent_has_the_runtime_checked(colleague: Colleague) -> None:
    assert turn(colleague, "doctor").code == 0
    made = last_call(colleague)
    found = json.loads(made["result"]["text"])
    assert made["tier"] == "auto"
    assert {"home", "database", "sandbox"} <= {each["about"] for each in found}


def test_without_a_gateway_there_is_nothing_to_restart(colleague: Colleague) -> None:
    assert turn(colleague, "restart").code == 4
    [asked] = colleague.ok("approval", "list", "--json").json
    colleague.ok("approve", asked["id"])
    made = last_call(colleague)
    assert made["is_error"]
    assert "no gateway runs in this process" in made["result"]["text"]


def test_a_gateway_restarts_after_a_yes_and_goes_on(colleague: Colleague) -> None:
    """The same process id, another start that reads `.env` anew; what waited is still there, and the next
    message is answered."""
    colleague.ok("init")
    (colleague.home / ".env").write_text("OF_THE_FILE=1\n")
    with serving(colleague):
        assert turn(colleague, "restart").code == 4
        before = json.loads((colleague.home / "state/gateway.json").read_text())
        [asked] = colleague.ok("approval", "list", "--json").json
        assert asked["reasoning"] is not None
        colleague.ok("approve", asked["id"])
        deadline = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError, ValueError):
                after = json.loads((colleague.home / "state/gateway.json").read_text())
                if after["started_at"] != before["started_at"]:
                    break
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert after["pid"] == before["pid"]
        assert b"OF_THE_FILE" not in Path(f"/proc/{after['pid']}/environ").read_bytes()
        assert "restarts as soon as this turn is over" in last_call(colleague)["result"]["text"]
        colleague.ok("session", "reset", "main")
        assert turn(colleague, "status").code == 0
        document = json.loads(last_call(colleague)["result"]["text"])
        assert document["gateway"]["started_at"] == after["started_at"]
