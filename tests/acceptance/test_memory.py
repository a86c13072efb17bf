"""What the main agent finds in its memory, from the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Colleague
from tests.office import Office
from tests.office import calls as reply


@pytest.fixture
def office(colleague: Colleague) -> Office:
    made = Office.open(colleague)
    workspace = colleague.home / "workspace"
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    (workspace / "memory/2026-01-31.md").write_text("# Decisions\n\nAda gets 40 requests a minute.\n")
    return made


def turn(office: Office, *calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of one turn, as they ended."""
    model = office.play(reply(*calls), {"text": "Done."})
    said = office.colleague("agent", "What did we decide about Ada?", "--model", model)
    assert said.code == 0, said.err
    made: list[dict[str, Any]] = office.last_run()["calls"]
    return made


def configure(office: Office, defaults: dict[str, Any]) -> None:
    file = office.colleague.home / "colleague.json"
    file.write_text(json.dumps({"agents": {"defaults": defaults}}))


def test_search_and_read(office: Office) -> None:
    found, read = turn(
        office,
        ("memory_search", {"query": "decided requests"}),
        ("memory_get", {"path": "memory/2026-01-31.md", "from": 3}),
    )
    assert (found["tier"], found["status"]) == ("auto", "finished")
    assert "memory/2026-01-31.md, lines 1-3, under 'Decisions'" in str(found["result"])
    assert "Ada gets 40 requests a minute." in str(read["result"])
    assert list((office.colleague.home / "state/memory-index").glob("*.sqlite"))


def test_the_state_of_experts_is_no_memory(office: Office) -> None:
    state = office.colleague.home / "workspace/expert-state/sales/state"
    state.mkdir(parents=True)
    (state / "deals.md").write_text("Ada is a secret deal.\n")
    configure(office, {"memorySearch": {"extraPaths": ["expert-state/sales", "."]}})
    found, read = turn(
        office,
        ("memory_search", {"query": "secret deal Ada"}),
        ("memory_get", {"path": "expert-state/sales/state/deals.md"}),
    )
    assert "secret" not in str(found["result"])
    assert "belongs to the runtime and is not searched" in str(found["result"])
    assert read["is_error"]
    assert "secret" not in str(read["result"])


def test_the_settings_take_the_tools_away(office: Office) -> None:
    configure(office, {"memorySearch": {"enabled": False}})
    (refused,) = turn(office, ("memory_search", {"query": "Ada"}))
    assert "there is no tool 'memory_search'" in str(refused["result"])


def test_no_key_is_said_to_have_no_effect(office: Office) -> None:
    configure(
        office, {"memorySearch": {"extraPaths": ["notes"]}, "contextLimits": {"memoryGetMaxChars": 500}}
    )
    assert "memory" not in office.colleague.ok("config", "check").out
