"""Grants under attack: each case tries to have a call made that nobody said yes to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SALES, Colleague, Said
from tests.forked import forked_command
from tests.office import SERVER, Office, call

MOVE = "crm.update_deal_stage"
ACME: dict[str, Any] = {"deal_id": "d-acme", "stage": "proposal", "reason": "They agreed."}


@dataclass(frozen=True)
class Floor:
    """A home with one expert and two offices: the one it is bound to, and another one."""

    office: Office
    other: Office

    @property
    def colleague(self) -> Colleague:
        return self.office.colleague

    def ask(self, **changes: Any) -> Said:
        model = self.office.play(call(MOVE, **(ACME | changes)), {"text": "Done."})
        return self.office.run(SALES, "Move the deal.", model=model)

    def approve(self, *options: str) -> Said:
        [asked] = self.office.pending()
        return self.colleague.ok("approve", asked["id"][-8:], *options)

    def grants(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.colleague.ok("grant", "list", "--json").json
        return found


def open_second_office(colleague: Colleague, name: str = "other") -> Office:
    database = colleague.home.parent / f"{name}.sqlite"
    command = forked_command(str(SERVER), "--database", str(database))
    colleague.ok("mcp", "add", name, "--", *command)
    return Office(colleague, database)


@pytest.fixture
def floor(tmp_path: Path) -> Floor:
    office = Office.open(Colleague(tmp_path / "home"))
    office.employ(SALES)
    return Floor(office, open_second_office(office.colleague))


def effects(office: Office) -> list[str]:
    return office.effects if office.database.exists() else []


def test_a_grant_ends_when_the_tool_is_bound_to_another_server(floor: Floor) -> None:
    assert floor.ask().code == 4
    floor.approve("--grant", "1h")
    assert floor.ask(stage="discovery").code == 0, "the grant covers the server it was given for"
    floor.colleague.ok("expert", "bind", SALES, "crm", "other")
    assert floor.ask(stage="qualification").code == 4
    assert effects(floor.other) == []
    [grant] = floor.grants()
    assert grant["state"] == "lapsed"
    assert "other" in grant["reason"]
    [asked] = floor.office.pending()
    assert "grant" in asked["reasoning"]
