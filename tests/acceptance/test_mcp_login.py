"""Logging in at an MCP server, as a person types it, without a gateway and beside one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.served_office import ENVIRON, ServedOffice
from tests.conftest import SALES, Colleague
from tests.integration.mcp.oauth_site import Site, running
from tests.office import Office, call

FOLLOW = """
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=60).read()
"""
NEEDS = "colleague mcp login desk"


@pytest.fixture
def site() -> Iterator[Site]:
    with running(Site()) as found:
        yield found


@pytest.fixture
def browser(tmp_path: Path) -> str:
    """For $BROWSER: a person who agrees."""
    file = tmp_path / "follow.py"
    file.write_text(FOLLOW)
    return f"{sys.executable} {file} %s"


def test_without_a_gateway(colleague: Colleague, site: Site, browser: str) -> None:
    office = Office.open(colleague)
    colleague.ok("mcp", "add", "desk", "--url", f"{site.url}/mcp")
    probed = colleague("mcp", "probe", "desk")
    assert probed.code == 1
    assert NEEDS in probed.out + probed.err
    listed = colleague.ok("mcp", "list")
    assert f"desk needs a login: {NEEDS}" in listed.err

    said = colleague.ok("mcp", "login", "desk", BROWSER=browser)
    assert "logged in at desk: 1 tool" in said.out
    assert f"sends the login to {site.url}" in said.err
    model = office.play(call("desk.echo", text="hello"), {"text": "Done."})
    colleague.ok("agent", "Say hello", "--model", model)
    [made] = office.last_run()["calls"]
    assert "hello" in str(made["result"])

    listed = colleague.ok("mcp", "list", "--json")
    assert [each["login"] for each in listed.json if each["name"] == "desk"] == ["logged in"]
    for shown in (listed, said):
        assert "access-token" not in shown.out + shown.err
    for file in (each for each in (colleague.home / "logs").rglob("*") if each.is_file()):
        assert b"access-token" not in file.read_bytes()
    colleague.ok("mcp", "logout", "desk")
    assert not site.valid


def test_beside_a_gateway(colleague: Colleague, site: Site, browser: str) -> None:
    served = ServedOffice.open(colleague, None)
    with served.serving():
        served.type("mcp", "add", "desk", "--url", f"{site.url}/mcp")
        play = served.office.play
        model = play(call("desk.login_needed"), {"text": "You have to log in."})
        served.type("agent", "Say hello", "--model", model)
        [made] = served.office.last_run()["calls"]
        assert NEEDS in str(made["result"])
        served.type("expert", "bind", SALES, "crm", "desk")
        never = play({"text": "Never."}, name="never")
        ran = colleague("expert", "run", SALES, "Look at the pipeline", "--model", never, **ENVIRON)
        assert ran.code == 1
        assert NEEDS in ran.out + ran.err
        assert served.office.last_run()["attempts"][-1]["number"] == 1

        colleague.ok("mcp", "login", "desk", BROWSER=browser, **ENVIRON)
        model = play(call("desk.echo", text="hello"), {"text": "Done."}, name="after")
        served.type("agent", "Say hello", "--model", model, "--session", "agent:main:web:dm:2")
        [made] = served.office.last_run()["calls"]
        assert "hello" in str(made["result"])
