from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.experts.package import ledger_package
from tests.integration.experts.stage import LEDGER
from tests.integration.gateway.harness import House
from tests.integration.runtime.served import Served
from tests.integration.store.databases import new_database, postgres_url

__all__ = ["postgres_url"]


@pytest.fixture(params=["sqlite", "postgresql"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    """A clerk, and a bookkeeper who needs a yes for each of three lines and is refused a fourth."""
    house = House(tmp_path / "home").furnish()
    server = {"command": sys.executable, "args": ["-S", "-E", str(LEDGER), str(house.root / "book.txt")]}
    house.configure(mcp={"servers": {"ledger": server}})
    given = ledger_package(tiers={"append": "confirm"})
    given.name = "bookkeeper"
    house.install(given, {"tools": {"ledger": "ledger"}, "model": "script/book.yaml"})
    lines = [{"operation": "ledger.append", "arguments": {"line": each}} for each in ("one", "two", "three")]
    read = {"operation": "ledger.look", "arguments": {"line": "one"}}
    unknown = {"operation": "ledger.burn", "arguments": {}}
    replies = [{"calls": [read, unknown, *lines]}, {"text": "written"}]
    (house.root / "book.yaml").write_text(json.dumps({"replies": replies}))
    talk = [{"text": "Let me look.", "calls": [{"operation": "ls", "arguments": {"path": "."}}]}]
    (house.root / "talk.yaml").write_text(json.dumps({"replies": [*talk, {"text": "Nothing there."}]}))
    if request.param == "sqlite":
        yield house
        return
    with new_database(request.getfixturevalue("postgres_url")) as url:
        house.configure(experts={"database": url})
        yield house


@pytest.fixture(params=["local", "remote"])
def served(request: pytest.FixtureRequest, house: House) -> Served:
    return Served(house, remote=request.param == "remote")
