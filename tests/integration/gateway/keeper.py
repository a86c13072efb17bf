"""A home with somebody who keeps notes, learns, and has a package to be updated from."""

from __future__ import annotations

import json
import sys
from typing import Any

import yaml

from tests.integration.experts.package import LEDGER_TOOL, Package, process
from tests.integration.experts.stage import LEDGER
from tests.integration.gateway.harness import LEAP_NIGHT, House, Running

KEEPER = "keeper"
NOTES = "state/notes.md"
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}"


def keeper_package(version: str = "1.0.0", append: str = "confirm", name: str = KEEPER) -> Package:
    """With markup in every text that an author writes."""
    return Package(
        files={
            "tools/ledger.yaml": yaml.safe_dump(LEDGER_TOOL),
            "processes/work.md": process(steps=(MARKUP,), tools=["ledger"]),
            "persona/identity.md": f"# Identity\n\nA keeper {MARKUP}\n",
            NOTES: "---\nscope: persistent\n---\n\nAs installed\n",
        },
        manifest={
            "description": f"Keeps notes {MARKUP}",
            "requires": {"tools": ["ledger"]},
            "policy": {"approval": {"default": "confirm", "overrides": {"ledger.append": append}}},
            "learning": {"enabled": True, "approval": "confirm"},
            "triggers": [
                {"name": "order", "type": "webhook", "process": "work", "concurrency": "serial"},
                {"name": "nightly", "type": "cron", "expr": LEAP_NIGHT, "process": "work"},
            ],
        },
        name=name,
        version=version,
    )


def furnish(house: House) -> House:
    """A ledger to bind to, and a keeper who is installed, bound and enabled."""
    server = {"command": sys.executable, "args": ["-S", "-E", str(LEDGER), str(house.root / "book.txt")]}
    house.configure(mcp={"servers": {"ledger": server}})
    budget = {"day": {"tokens": 1_000_000}, "run": {"cost": 2.5}}
    bindings = {"tools": {"ledger": "ledger"}, "model": "script/keeper.yaml", "budget": budget}
    house.install(keeper_package(), bindings)
    (house.root / "keeper.yaml").write_text(json.dumps({"replies": replies()}))
    return house


def replies() -> list[dict[str, Any]]:
    lesson = {
        "scope": "package",
        "title": f"Mondays {MARKUP}",
        "observation": f"Saw {MARKUP}",
        "correction": "Do better",
        "confidence": "high",
    }
    calls = [
        ("read", {"path": NOTES}),
        ("write", {"path": NOTES, "text": "First line\n"}),
        ("write", {"path": NOTES, "text": f"First line\n{MARKUP}\n"}),
        ("propose_learning", lesson),
    ]
    made = [{"calls": [{"operation": name, "arguments": given}]} for name, given in calls]
    return [*made, {"text": f"Kept {MARKUP}"}]


def keep(gateway: Running) -> dict[str, Any]:
    """A run of the keeper, done."""
    told = gateway.post(f"/api/experts/{KEEPER}/runs", {"task": "keep the notes"})
    assert told.status_code == 202, told.text
    run = gateway.ended(told.json()["run_id"])
    assert run["outcome"] == "completed", run["error"]
    return run
