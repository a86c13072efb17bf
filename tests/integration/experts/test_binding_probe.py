"""Bound servers, asked for their tools: real processes, some of them broken in their own way."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from colleague.config import Settings
from colleague.experts.binding_probe import probe_bindings, time_limit
from colleague.experts.bindings import read_bindings
from colleague.experts.bound_skills import BoundSkill
from colleague.mcp.probe import Probed
from colleague.mcp.servers import Servers
from colleague.packages.finding import Finding, Findings
from colleague.skills.skill import AllowedTool, Skill, SkillHead
from tests.conftest import ROOT
from tests.integration.mcp.support import BARE, Bench
from tests.unit.packages.conftest import PackageOnDisk

SHELF = str(Path(__file__).with_name("shelf.py"))
TEXT = {"type": "string"}


def tool(name: str, properties: Any = None, **more: Any) -> dict[str, Any]:
    shape = {"type": "object", "properties": {"email": TEXT} if properties is None else properties}
    hints = {"annotations": {"readOnlyHint": True}} if name.startswith("get") else {}
    return {"name": name, "inputSchema": shape, **hints, **more}


BOTH = [tool("get_contact"), tool("delete_contact")]


@dataclass
class Desk:
    """The clean package, its bindings and its servers."""

    bench: Bench
    package: PackageOnDisk
    bindings: str = "tools:\n  crm: shelf\n"
    told: list[Probed] = field(default_factory=list)

    def shelf(self, tools: Any, *mode: str, name: str = "shelf", **more: Any) -> None:
        """A server with these tools, or with any other answer to the question for them."""
        file = self.bench.root / f"{name}.json"
        file.write_text(json.dumps(tools if isinstance(tools, dict) else {"tools": tools}))
        self.bench.stdio(name, [SHELF, str(file), *mode], **more)

    def check(self, seconds: float = 20, **more: Any) -> list[Finding]:
        file = self.bench.root / "bindings.yaml"
        file.write_text(self.bindings)
        findings = Findings()
        bindings = read_bindings(file, findings)
        assert not len(findings)
        package = self.package.load()

        async def work(servers: Servers) -> None:
            more.setdefault("tell", self.told.append)
            await probe_bindings(package, bindings, servers, findings, seconds=seconds, **more)

        self.bench.run(work)
        return list(findings)

    def only(self, **more: Any) -> Finding:
        [finding] = self.check(**more)
        return finding


@pytest.fixture
def desk(bench: Bench, clean: PackageOnDisk) -> Desk:
    return Desk(bench, clean)


def test_a_server_that_has_everything(desk: Desk) -> None:
    desk.shelf(BOTH)
    assert desk.check() == []
    assert [(each.name, each.ok) for each in desk.told] == [("shelf", True)]


def test_an_operation_the_server_has_under_another_name(desk: Desk) -> None:
    desk.shelf([tool("get_contacts"), tool("delete_contact")])
    finding = desk.only(name="my-expert")
    assert (finding.severity, finding.code, finding.file, finding.line) == (
        "warning",
        "operation-missing",
        "bindings.yaml",
        2,
    )
    assert finding.message == ("crm.get_contact: MCP server shelf has no tool 'get_contact' that may be used")
    assert finding.hint == "colleague expert bind my-expert crm shelf --operation get_contact=get_contacts"


@pytest.mark.parametrize("name", ["hubspot_get_contact_by_email", "Hubspot.getContact", "contact-get"])
def test_a_name_that_holds_the_words_is_suggested(desk: Desk, name: str) -> None:
    desk.shelf([tool("unrelated"), tool(name), tool("delete_contact")])
    assert desk.only().hint.endswith(f"crm shelf --operation get_contact={name}")


@pytest.mark.parametrize("names", [["set_contact"], ["get_contact;reboot"], ["get_contact\x1b[2J"], []])
def test_a_name_that_would_do_harm_is_not_suggested(desk: Desk, names: list[str]) -> None:
    desk.shelf([*map(tool, names), tool("delete_contact")])
    assert desk.only().hint == (
        "find one with colleague mcp probe shelf, then:"
        " colleague expert bind clean-expert crm shelf --operation get_contact=MCP_TOOL"
    )


def test_a_mapping_to_a_tool_that_is_not_there(desk: Desk) -> None:
    desk.shelf([tool("find", annotations={"readOnlyHint": True}), *BOTH])
    desk.bindings = "tools:\n  crm:\n    server: shelf\n    operations:\n      get_contact: fnd\n"
    finding = desk.only()
    assert (finding.code, finding.line) == ("operation-missing", 5)
    assert "has no tool 'fnd'" in finding.message
    assert finding.hint.endswith("--operation get_contact=find")
    desk.bindings = desk.bindings.replace("fnd", "look_someone_up")
    assert desk.only().hint.endswith("--operation get_contact=get_contact")
    desk.bindings = desk.bindings.replace("look_someone_up", "find")
    assert desk.check() == []


def test_a_tool_that_the_settings_hide_cannot_be_used(desk: Desk) -> None:
    desk.shelf(BOTH, toolFilter={"exclude": ["get_*"]})
    assert [each.code for each in desk.check()] == ["operation-missing"]


def test_each_difference_is_a_warning_at_the_operation(desk: Desk) -> None:
    wanted = {"email": {"type": "integer"}, "portal": TEXT}
    shape = {"type": "object", "properties": wanted, "required": ["portal"]}
    output = {"type": "object", "properties": {"deleted": TEXT}}
    desk.shelf([tool("get_contact", inputSchema=shape), tool("delete_contact", outputSchema=output)])
    found = desk.check()
    assert {(each.severity, each.code, each.file) for each in found} == {
        ("warning", "operation-shape", "tools/crm.yaml")
    }
    lines = [desk.package.line("tools/crm.yaml", f"- name: {name}") for name in ("get_", "delete_")]
    assert [each.line for each in found] == [lines[0], lines[0], lines[1]]
    assert "requires 'portal', which the package does not declare" in found[0].message
    assert "'email' is string in the package and number in shelf/get_contact" in found[1].message
    assert "expects 'deleted' in the answer to be boolean; with shelf/delete_contact it is string" in (
        found[2].message
    )
    assert found[0].hint == (
        "correct tools/crm.yaml, or choose a tool that fits:"
        " colleague expert bind clean-expert crm shelf --operation get_contact=MCP_TOOL"
    )


def test_very_many_differences_are_counted(desk: Desk) -> None:
    shape = {"type": "object", "required": [f"a{number}" for number in range(500)]}
    desk.shelf([tool("get_contact", inputSchema=shape), tool("delete_contact")])
    found = desk.check()
    assert len(found) == 11
    assert any("490 more differences from shelf/get_contact" in each.message for each in found)


REPEATABLE = "tools:\n  crm:\n    server: shelf\n    repeatable: [get_contact, delete_contact]\n"


@pytest.mark.parametrize(
    ("hints", "told"),
    [
        ({}, True),
        ({"destructiveHint": True}, True),
        ({"destructiveHint": False}, False),
        ({"idempotentHint": True}, False),
        ({"readOnlyHint": True}, False),
    ],
)
def test_an_effect_marked_repeatable(desk: Desk, hints: Any, told: bool) -> None:
    """An operation named as a question is not told of, though its server says nothing about it."""
    desk.shelf([tool("get_contact"), tool("delete_contact", annotations=hints)])
    desk.bindings = REPEATABLE
    found = desk.check()
    assert [(each.severity, each.code, each.line) for each in found] == (
        [("warning", "operation-repeatable", 4)] if told else []
    )
    assert all("crm.delete_contact is marked repeatable" in each.message for each in found)


@pytest.mark.parametrize(
    ("bindings", "claim"),
    [
        ("tools:\n  crm: {server: shelf, reads: [get_contact]}\n", ""),
        ("tools:\n  crm: {server: shelf, repeatable: [get_contact]}\n", ""),
        ("tools:\n  crm: shelf\n", "    reads: true\n"),
    ],
    ids=["reads", "repeatable", "package"],
)
def test_a_server_without_hints_gets_the_line_for_the_bindings(desk: Desk, bindings: str, claim: str) -> None:
    desk.shelf([tool("get_contact", annotations=None), tool("delete_contact")])
    finding = desk.only()
    assert (finding.severity, finding.code, finding.line) == ("warning", "operation-unhinted", 2)
    assert finding.hint == "if they only read, write in bindings.yaml under crm: reads: [get_contact]"

    desk.bindings = bindings
    if claim:
        desk.package.replace(
            "tools/crm.yaml", "    description: One contact\n", f"    description: One\n{claim}"
        )
    assert desk.check() == []


def test_an_effect_marked_as_reading(desk: Desk) -> None:
    desk.shelf([tool("get_contact"), tool("delete_contact", annotations={"readOnlyHint": False})])
    desk.bindings = "tools:\n  crm:\n    server: shelf\n    reads: [delete_contact]\n"
    finding = desk.only()
    assert (finding.severity, finding.code, finding.line) == ("warning", "operation-reads", 4)
    assert (
        "crm.delete_contact is marked as reading, but shelf/delete_contact says that it changes"
        in finding.message
    )


def test_a_server_that_is_disabled(desk: Desk) -> None:
    desk.shelf(BOTH, enabled=False)
    finding = desk.only()
    assert (finding.severity, finding.code, finding.line) == ("error", "server-unreachable", 2)
    assert finding.message == "crm: MCP server shelf is disabled"
    assert finding.hint == "set mcp.servers.shelf.enabled to true"


def test_a_command_that_is_not_found(desk: Desk) -> None:
    desk.bench.servers["shelf"] = {"command": "no-such-command"}
    finding = desk.only()
    assert finding.code == "server-unreachable"
    assert finding.message == (
        "crm: MCP server shelf cannot start: the command 'no-such-command' is not found"
    )
    assert finding.hint == "install it, or correct mcp.servers.shelf.command"


def test_a_variable_that_is_not_set(desk: Desk) -> None:
    desk.shelf(BOTH, env={"KEY": "${NO_SUCH_KEY}"})
    finding = desk.only()
    assert finding.code == "server-unreachable"
    assert "NO_SUCH_KEY" in finding.message


def test_a_server_that_ends_at_once_says_why(desk: Desk) -> None:
    script = "import sys; sys.exit('the licence has run out')"
    desk.bench.stdio("shelf", ["-c", script])
    finding = desk.only()
    assert finding.code == "server-unreachable"
    assert "exited with code 1 before it answered; it said: the licence has run out" in finding.message


@pytest.mark.parametrize("mode", ["--deaf", "--silent"])
def test_a_server_that_hangs_is_not_waited_for(desk: Desk, mode: str) -> None:
    desk.shelf(BOTH, mode, connectionTimeoutMs=600_000)
    began = time.monotonic()
    finding = desk.only(seconds=2)
    assert time.monotonic() - began < 300
    assert finding.code == "server-unreachable"
    assert finding.message == "crm: MCP server shelf did not answer within 2 s"
    assert finding.hint == "try it alone: colleague mcp probe shelf"
    assert [each.ok for each in desk.told] == [False]


def test_a_server_with_a_limit_of_its_own_is_told_of_by_that(desk: Desk) -> None:
    desk.shelf(BOTH, "--deaf", connectionTimeoutMs=500)
    finding = desk.only()
    assert "did not answer within 0.5 s" in finding.message
    assert "mcp.servers.shelf.connectionTimeoutMs gives it more time" in finding.hint


def test_a_server_that_dies_after_it_listed_its_tools(desk: Desk) -> None:
    desk.shelf(BOTH, "--dies")
    finding = desk.only(settling=120)
    assert finding.code == "server-unreachable"
    assert finding.message == "crm: MCP server shelf ended by itself after it had listed its tools"
    assert finding.hint == "read logs/mcp-shelf.log in the home to see why"


@pytest.mark.parametrize(
    "listing",
    [{"tools": "none"}, {}, {"tools": [{"name": 5}]}, {"tools": [{"name": "x", "inputSchema": []}]}],
    ids=["text", "nothing", "number", "list"],
)
def test_a_listing_that_is_nonsense(desk: Desk, listing: Any) -> None:
    desk.shelf(listing)
    finding = desk.only()
    assert finding.code == "server-unreachable"
    assert "MCP server shelf did not list its tools: " in finding.message


def test_hundreds_of_tools(desk: Desk) -> None:
    desk.shelf([tool(f"tool_{number}") for number in range(400)] + [tool("get_contact")])
    finding = desk.only()
    assert finding.message.startswith("crm.delete_contact: MCP server shelf has no tool")
    assert len(desk.told[0].tools) == 401


def test_a_name_that_stands_twice(desk: Desk) -> None:
    """The one listed last counts."""
    desk.shelf([tool("get_contact", {"email": {"type": "integer"}}), *BOTH])
    assert desk.check() == []
    desk.shelf([*BOTH, tool("get_contact", {"email": {"type": "integer"}})])
    assert desk.only().code == "operation-shape"


THREE = "tools:\n  crm: shelf\n  mail: shelf\n  desk: ghost\n"


def test_each_server_is_asked_once_and_the_broken_one_hides_nothing(desk: Desk) -> None:
    desk.shelf([tool("get_contact")])
    desk.bench.servers["ghost"] = {"command": "no-such-command"}
    desk.bindings = THREE
    found = desk.check()
    assert [(each.code, each.line) for each in found] == [("server-unreachable", 4), ("operation-missing", 2)]
    assert sorted(each.name for each in desk.told) == ["ghost", "shelf"]
    assert desk.bench.log("shelf").count("asked for its tools") == 1


def test_a_broken_server_is_told_of_once_with_all_that_needs_it(desk: Desk) -> None:
    desk.bench.servers["shelf"] = {"command": "no-such-command"}
    desk.bindings = THREE
    finding = desk.only()
    assert finding.message.startswith("crm, mail: MCP server shelf cannot start")


def test_servers_are_started_at_the_same_time(desk: Desk) -> None:
    """Three that hang take as long as one."""
    for name in ("a", "b", "c"):
        desk.shelf(BOTH, "--deaf", name=name, connectionTimeoutMs=10_000)
    desk.bindings = "tools:\n  crm: a\n  mail: b\n  desk: c\n"
    began = time.monotonic()
    assert [each.code for each in desk.check(seconds=60)] == ["server-unreachable"] * 3
    assert time.monotonic() - began < 29


def records(allowed: str) -> Any:
    """A skill that crm is bound to."""
    head = SkillHead("records", "", allowed=tuple(AllowedTool.read(each) for each in allowed.split()))
    return {"crm": BoundSkill(Skill("records", "managed", Path("skills/records"), head), "")}


def test_the_servers_of_a_skill_are_asked(desk: Desk) -> None:
    desk.bindings = "tools:\n  crm: {type: skill, skill: records}\n"
    desk.shelf(BOTH)
    assert desk.check(skills=records("mcp__shelf")) == []
    assert [each.name for each in desk.told] == ["shelf"]


def test_a_skill_that_means_a_tool_which_its_server_has_not(desk: Desk) -> None:
    desk.bindings = "tools:\n  crm: {type: skill, skill: records}\n"
    desk.shelf([tool("get_contact")])
    finding = desk.only(skills=records("mcp__shelf__get_contact mcp__shelf__delete_contact"))
    assert (finding.code, finding.line) == ("skill-operation", 2)
    said = "crm.delete_contact: the skill records means a tool 'delete_contact' of shelf, which has none"
    assert (finding.message, finding.hint) == (said, "see its tools with: colleague mcp probe shelf")


def test_a_skill_whose_server_cannot_be_reached(desk: Desk) -> None:
    desk.bindings = "tools:\n  crm: {type: skill, skill: records}\n"
    desk.bench.stdio("shelf", ["-c", "raise SystemExit(3)"])
    assert [each.code for each in desk.check(skills=records("mcp__shelf"))] == ["server-unreachable"]


def test_skills_and_unknown_servers_are_not_asked(desk: Desk) -> None:
    desk.bindings = "tools:\n  crm:\n    type: skill\n    server: shelf\n  mail: nobody\n"
    desk.shelf([])
    assert desk.check() == []
    assert desk.told == []


def test_a_tool_that_the_package_does_not_describe_needs_only_its_server(desk: Desk) -> None:
    desk.bench.stdio("shelf", BARE)
    desk.bindings = "tools:\n  other: shelf\n"
    assert desk.check() == []


def test_a_long_start_that_the_settings_allow_is_waited_for(desk: Desk) -> None:
    desk.shelf([], connectionTimeoutMs=120_000)
    desk.shelf([], name="quick")
    settings = Settings.model_validate({"mcp": {"servers": desk.bench.servers}})
    assert time_limit(settings, ["quick"]) == 60
    assert time_limit(settings, ["quick", "shelf"]) == 150
    assert time_limit(settings, []) == 30


@pytest.mark.parametrize("example", ["radiant-sales-expert", "support-desk-expert"])
def test_the_examples_fit_the_office(bench: Bench, example: str) -> None:
    package = PackageOnDisk(ROOT / "examples" / example).load()
    office = str(ROOT / "examples" / "office" / "server.py")
    database = str(bench.root / "office.sqlite")
    bench.stdio("office", [office, "--database", database])
    desk = Desk(bench, PackageOnDisk(package.root))
    desk.bindings = "tools:\n" + "".join(f"  {name}: office\n" for name in package.manifest.requires_tools)
    assert [str(each) for each in desk.check()] == []
