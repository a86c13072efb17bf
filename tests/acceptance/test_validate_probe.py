"""colleague expert validate, with the servers that the expert is bound to."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_expert import replace
from tests.conftest import EXAMPLE, ROOT, SALES, Colleague
from tests.forked import forked_command
from tests.integration.mcp.support import marked
from tests.typist import typing
from tests.unit.test_fast_verbs import HEAVY, modules_after

OFFICE = str(ROOT / "examples" / "office" / "server.py")
TOOLS = ("crm", "email", "calendar")


def configure(colleague: Colleague, **servers: Any) -> None:
    colleague.home.mkdir(parents=True, exist_ok=True)
    settings = {"mcp": {"servers": servers}, "hooks": {"token": "a-token-of-all-hooks"}}
    (colleague.home / "colleague.json").write_text(json.dumps(settings))


def office(colleague: Colleague, **more: Any) -> dict[str, Any]:
    database = str(colleague.home / "office.sqlite")
    env = {"BENCH": str(colleague.home)}
    command, *arguments = forked_command(OFFICE, "--database", database)
    return {"command": command, "args": arguments, "env": env, **more}


@pytest.fixture
def bound(installed: Colleague) -> Colleague:
    """The sales expert, with all it needs bound to the office."""
    configure(installed, office=office(installed))
    bind_all(installed)
    return installed


def bind_all(colleague: Colleague) -> None:
    lines = [f"  {tool}:\n    type: mcp\n    server: office\n" for tool in TOOLS]
    (colleague.expert() / "bindings.yaml").write_text("tools:\n" + "".join(lines))


def test_bound_to_the_office_everything_is_ticked(bound: Colleague) -> None:
    bound.ok("expert", "enable", SALES)
    said = bound.ok("expert", "validate", SALES)
    assert said.out.splitlines() == [
        "✓ Package structure valid (spec 1.0)",
        "✓ Cross-references intact (triggers → processes → functions)",
        "✓ All required tools bound",
        "✓ MCP servers configured",
        "✓ MCP servers reachable (office)",
        "✓ State files initialized",
        "✓ Triggers registered"
        " (new_email: webhook/gmail, opportunity_scan: cron: 0 8 * * 1-5 Australia/Sydney)",
    ]
    assert said.err == ""
    assert bound.ok("expert", "validate", SALES, "--json").json == {
        "expert": SALES,
        "version": "0.1.0",
        "ok": True,
        "findings": [],
    }
    assert marked(f"BENCH={bound.home}") == []


def test_a_mapping_to_a_wrong_name_is_a_warning_with_the_nearest(bound: Colleague) -> None:
    bound.ok("expert", "bind", SALES, "crm", "office", "--operation", "get_contact=get_contacts")
    said = bound.ok("expert", "validate", SALES)
    assert "✓ MCP servers reachable (office)" in said.out
    lines = (bound.expert() / "bindings.yaml").read_text().splitlines()
    line = lines.index("      get_contact: get_contacts") + 1
    assert said.out.splitlines()[-2:] == [
        f"warning bindings.yaml:{line}: crm.get_contact: MCP server office has no tool 'get_contacts'"
        " that may be used [operation-missing]",
        f"        colleague expert bind {SALES} crm office --operation get_contact=get_contact",
    ]
    bound.ok(*said.out.splitlines()[-1].split()[1:])
    assert bound.ok("expert", "validate", SALES, "--json").json["findings"] == []


def test_the_hint_names_the_expert_as_it_is_installed(colleague: Colleague) -> None:
    configure(colleague, office=office(colleague, toolFilter={"exclude": ["get_deal"]}))
    colleague.ok("expert", "install", str(EXAMPLE), "--name", "second")
    colleague.ok("expert", "bind", "second", "crm", "office")
    findings = colleague("expert", "validate", "second", "--json").json["findings"]
    [missing] = [each for each in findings if each["code"] == "operation-missing"]
    assert missing["hint"].startswith("colleague expert bind second crm office --operation get_deal=")


def test_a_dead_command_is_an_error_with_server_and_cure(bound: Colleague) -> None:
    configure(bound, office={"command": "no-such-office"})
    said = bound("expert", "validate", SALES)
    assert said.code == 1
    assert "✓ MCP servers configured\n✗ MCP servers reachable (office)\n" in said.out
    assert (
        "crm, email, calendar: MCP server office cannot start: the command 'no-such-office' is not found"
        " [server-unreachable]\n        install it, or correct mcp.servers.office.command\n"
    ) in said.out
    document = bound("expert", "validate", SALES, "--json")
    assert document.code == 1
    assert [each["code"] for each in document.json["findings"]] == ["server-unreachable"]
    assert document.json["findings"][0]["severity"] == "error"


def test_a_schema_that_differs_is_a_warning(bound: Colleague) -> None:
    tool = bound.expert() / "tools" / "crm.yaml"
    replace(tool, "required: [contact_id, note]", "required: [contact_id, note, stars]")
    replace(
        tool, "          description: Plain text or Markdown\n", "        stars:\n          type: number\n"
    )
    replace(tool, "        limit:\n          type: number\n", "        limit:\n          type: string\n")
    said = bound.ok("expert", "validate", SALES)
    assert "✓ MCP servers reachable (office)" in said.out
    shapes = [line for line in said.out.splitlines() if line.endswith("[operation-shape]")]
    assert len(shapes) == 2
    assert "'limit' is string in the package and number in office/list_deals" in shapes[0]
    assert "the package declares 'stars', which office/create_note does not know" in shapes[1]


def test_a_secret_stays_out_of_the_findings(bound: Colleague) -> None:
    script = "import os, sys; sys.exit('bad key ' + os.environ['CRM_KEY'])"
    server = {"command": sys.executable, "args": ["-c", script], "env": {"CRM_KEY": "${CRM_KEY}"}}
    configure(bound, office=server)
    said = bound("expert", "validate", SALES, CRM_KEY="hunter2hunter2")
    assert said.code == 1
    assert "exited with code 1 before it answered; it said: bad key" in said.out
    assert "hunter2" not in said.out + said.err
    unset = bound("expert", "validate", SALES)
    assert "CRM_KEY" in unset.out


def test_servers_that_are_not_configured_are_not_asked(installed: Colleague) -> None:
    bind_all(installed)
    said = installed("expert", "validate", SALES)
    assert "✗ MCP servers configured\n- MCP servers reachable: none to ask\n" in said.out
    assert "server-unreachable" not in said.out


def test_offline_and_a_folder_start_nothing(bound: Colleague) -> None:
    proof = bound.home / "started"
    configure(bound, office={"command": "touch", "args": [str(proof)]})
    assert "MCP servers" not in bound.ok("expert", "validate", SALES, "--offline").out
    assert "MCP servers" not in bound.ok("expert", "validate", str(EXAMPLE)).out
    assert not proof.exists()
    assert bound("expert", "validate", SALES).code == 1
    assert proof.exists()


def test_offline_imports_nothing_heavy(bound: Colleague) -> None:
    assert not modules_after(bound, ["expert", "validate", "--offline", SALES]) & HEAVY


def test_a_person_sees_what_is_waited_for(bound: Colleague, tmp_path: Path) -> None:
    slow, seen = tmp_path / "slow.sh", tmp_path / "seen"
    command = shlex.join(forked_command(OFFICE, "--database", f"{tmp_path}/o.sqlite"))
    slow.write_text(f"while [ ! -e {seen} ]; do sleep 0.1; done\nexec {command}\n")
    configure(bound, office=office(bound), slow={"command": "sh", "args": [str(slow)]})
    bound.ok("expert", "bind", SALES, "email", "slow")
    with typing(bound, "expert", "validate", SALES, columns=200) as person:
        shown = person.until("Waiting for slow")
        seen.touch()
        person.until("MCP servers reachable")
        assert person.end() == 0
    assert "Starting office, slow" in shown.replace("slow, office", "office, slow")


def test_a_skill_without_a_tool_for_an_operation_is_an_error_with_a_cure(installed: Colleague) -> None:
    skill = installed.home / "skills" / "records" / "SKILL.md"
    installed.ok("expert", "bind", SALES, "crm", "records", "--skill")
    assert "skill-unknown" in installed("expert", "validate", SALES).out

    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: records\nallowed-tools: [mcp__gone__get_contact, Bash]\n---\n\nAsk twice.\n")
    found = installed("expert", "validate", SALES, "--json").json["findings"]
    of_skill = [each for each in found if each["code"] == "skill-operation"]
    assert len(of_skill) == 4
    assert "crm.get_deal: the skill records allows no tool 'get_deal'" in of_skill[0]["message"]
    assert "operations: {get_deal: SERVER/TOOL}" in of_skill[0]["hint"]
    assert ["'gone'" in each["message"] for each in found if each["code"] == "server-unknown"] == [True]
    assert "Ask twice." in installed.ok("expert", "prompt", SALES).out

    [warned] = [each for each in found if each["code"] == "skill-scripts"]
    said = "crm: the skill records has scripts, which an expert can read and cannot run"
    assert (warned["severity"], warned["message"]) == ("warning", said)
    skill.write_text(skill.read_text().replace(", Bash", ""))
    assert "skill-scripts" not in installed("expert", "validate", SALES).out
    (skill.parent / "scripts").mkdir()
    assert "skill-scripts" in installed("expert", "validate", SALES).out
