"""Settings tell the truth: what restricts and is not kept stops the start, and what has no effect is said."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.acceptance.test_with_gateway import REHEARSAL, TRIAGE, serving
from tests.conftest import EXAMPLE, SALES, Colleague, Said
from tests.forked import forked_command
from tests.office import Office

SCRIPT = "replies: [{when: /./, text: hello}]"
KEY = "agents.defaults.sandbox.sessionToolsVisibility"
ALL = ', sandbox: { sessionToolsVisibility: "spawned" }'
AGENTS = "  agents: {{ defaults: {{ model: 'script/play.yaml'{} }} }},"
PLACE = f"colleague.json:2:{AGENTS.format(ALL).index('sessionToolsVisibility:') + 1}"
"""Where a file that restricts says so."""
THEIRS = "{agents: {defaults: {sandbox: {sessionToolsVisibility: 'spawned'}}}}"


@pytest.fixture
def home(colleague: Colleague) -> Path:
    """A home whose main agent answers, with one expert."""
    colleague.ok("init")
    colleague.ok("expert", "install", str(EXAMPLE))
    (colleague.home / "play.yaml").write_text(SCRIPT)
    write(colleague)
    return colleague.home


def write(colleague: Colleague, text: str = "", *, theirs: str = "", restricts: bool = False) -> None:
    agents = AGENTS.format(ALL if restricts else "")
    (colleague.home / "colleague.json").write_text(f"{{\n{agents}\n  {text}\n}}")
    if theirs:
        (colleague.home / "openclaw.json").write_text(theirs)


def runs(colleague: Colleague) -> int:
    return len(json.loads(colleague.ok("run", "list", "--json").out))


def serve(colleague: Colleague) -> Said:
    """What `colleague serve` says when it does not start."""
    done = subprocess.run(
        forked_command("-m", "colleague", "serve", "--port", "0"),
        capture_output=True,
        text=True,
        env=colleague.environment({}),
        cwd=colleague.home.parent,
        timeout=60,
    )
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.mark.usefixtures("home")
class TestRestrictions:
    def test_no_run_begins(self, colleague: Colleague) -> None:
        assert colleague("agent", "hi").out == "hello\n"
        write(colleague, restricts=True)
        said = colleague("agent", "hi")
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith(f"✗ {colleague.home}/{PLACE}: ")
        assert f": {KEY} restricts agents, and nothing enforces it yet\n" in said.err
        assert said.err.endswith(f'  remove {KEY}, or set it to "all"\n')
        assert runs(colleague) == 1

    def test_whatever_begins_a_run_is_refused(self, colleague: Colleague) -> None:
        write(colleague, restricts=True)
        for command in (
            ("expert", "run", SALES, "look"),
            ("expert", "run", SALES, "look", "--no-wait"),
            ("expert", "rehearse", SALES),
            ("agent", "hi", "--json"),
        ):
            said = colleague(*command)
            assert (said.code, said.out, f"{KEY} restricts agents" in said.err) == (1, "", True), command
        assert runs(colleague) == 0

    def test_a_run_can_still_be_looked_at_and_ended(self, colleague: Colleague) -> None:
        accepted = colleague.ok("expert", "run", SALES, "look", "--no-wait", "--json")
        run = json.loads(accepted.out)["run_id"]
        write(colleague, restricts=True)
        colleague.ok("run", "show", run)
        colleague.ok("run", "cancel", run)

    def test_the_gateway_does_not_start(self, colleague: Colleague) -> None:
        write(colleague, restricts=True)
        said = serve(colleague)
        assert (said.code, said.out) == (1, "")
        assert f"{PLACE}: {KEY} restricts agents" in said.err

    def test_doctor_has_no_tick_for_it(self, colleague: Colleague) -> None:
        write(colleague, restricts=True)
        said = colleague("doctor")
        assert said.code == 1
        assert "✗ settings: " in said.out
        assert "✓ settings" not in said.out

    def test_a_value_that_restricts_nothing_is_accepted(self, colleague: Colleague) -> None:
        write(
            colleague,
            'tools: { profile: "minimal", allow: ["*"], deny: ["x"], byProvider: { x: { deny: [] } } },'
            ' session: { sendPolicy: { default: "allow", rules: [{ action: "allow" }] } }',
        )
        assert colleague.ok("agent", "hi").out == "hello\n"
        assert colleague.ok("config", "check").out == "✓ every key that is set has an effect\n"

    def test_one_in_openclaws_file_names_it_and_can_be_overridden(self, colleague: Colleague) -> None:
        write(colleague, theirs=THEIRS)
        said = colleague("agent", "hi")
        assert said.code == 1
        assert f"{colleague.home}/openclaw.json:1:32: {KEY} restricts agents" in said.err
        cure = '{ agents: { defaults: { sandbox: { sessionToolsVisibility: "all" } } } }'
        assert f"put {cure} in colleague.json, which wins over openclaw.json" in said.err
        file = colleague.home / "colleague.json"
        file.write_text(
            file.read_text().replace("play.yaml'", "play.yaml', sandbox: { sessionToolsVisibility: 'all' }")
        )
        assert colleague.ok("agent", "hi").out == "hello\n"
        assert (colleague.home / "openclaw.json").read_text() == THEIRS

    def test_both_files_say_it(self, colleague: Colleague) -> None:
        write(colleague, theirs=THEIRS, restricts=True)
        said = colleague("agent", "hi")
        assert said.err.count("restricts agents") == 1
        assert f"{PLACE}: {KEY}" in said.err


def test_a_decision_waits_until_the_run_may_go_on(colleague: Colleague) -> None:
    office = Office.open(colleague)
    office.employ(SALES)
    assert office.run(SALES, *TRIAGE, model=REHEARSAL).code == 4
    [approval] = office.pending()
    (colleague.home / "openclaw.json").write_text(THEIRS)
    for command in (
        ("approve", approval["id"]),
        ("reject", approval["id"]),
        ("run", "retry", approval["run_id"]),
    ):
        said = colleague(*command)
        assert (said.code, f"openclaw.json:1:32: {KEY} restricts agents" in said.err) == (1, True), command
    assert office.pending() == [approval]
    (colleague.home / "openclaw.json").unlink()
    colleague.ok("approve", approval["id"], timeout=120)


class TestMainAgent:
    def test_its_own_model_and_workspace_count(self, colleague: Colleague, home: Path) -> None:
        (home / "own.yaml").write_text("replies: [{text: by my own}]")
        theirs = """{agents: {defaults: {model: 'no/such', workspace: 'elsewhere'}, list: [
            {id: 'other', model: 'none/such', identity: {avatar: 'a'}},
            {id: 'me', default: true, model: 'script/own.yaml', workspace: 'mine'}]}}"""
        (home / "colleague.json").write_text("{}")
        (home / "openclaw.json").write_text(theirs)
        assert colleague.ok("agent", "hi").out == "by my own\n"
        assert (home / "mine").is_dir()
        assert not (home / "elsewhere").exists()
        said = colleague.ok("config", "check")
        assert "agents.list[0].identity.avatar has no effect yet" in said.out
        assert "agents.list[1]" not in said.out

    def test_its_restrictions_count(self, colleague: Colleague, home: Path) -> None:
        (home / "openclaw.json").write_text(
            "{agents: {list: [{id: 'main', sandbox: {sessionToolsVisibility: 'spawned'}}]}}"
        )
        said = colleague("agent", "hi")
        assert said.code == 1
        assert (
            "openclaw.json:1:41: agents.list[0].sandbox.sessionToolsVisibility restricts agents" in said.err
        )
        assert "put agents.list without it in colleague.json" in said.err


@pytest.mark.usefixtures("home")
class TestCheck:
    def test_by_list(self, colleague: Colleague) -> None:
        write(
            colleague,
            'tools: { exec: { security: "deny" } }, gatway: {}, channels: { slack: {} }',
            restricts=True,
        )
        said = colleague("config", "check")
        file = f"{colleague.home}/colleague.json"
        assert (said.code, said.err) == (1, "")
        assert said.out.splitlines() == [
            "✗ Nothing starts with these: they restrict agents, and nothing enforces them yet.",
            f"  {colleague.home}/{PLACE}: {KEY}",
            f'    remove {KEY}, or set it to "all"',
            "! These have no effect yet. They may stay in the file; do not rely on them.",
            f"  {file}:3:54: channels has no effect yet, apart from groups.*.tools",
            "! These are not known, or count for nothing.",
            f"  {file}:3:42: gatway is not a known key",
            "    did you mean 'gateway'?",
        ]

    def test_as_json(self, colleague: Colleague) -> None:
        write(colleague, "gatway: {}, channels: { slack: {} }", restricts=True)
        said = colleague("config", "check", "--json")
        found = json.loads(said.out)
        assert (said.code, found["ok"]) == (1, False)
        assert [(each["key"], each["line"]) for each in found["restricts"]] == [(KEY, 2)]
        assert [each["key"] for each in found["not_yet"]] == ["channels"]
        assert [each["hint"] for each in found["warnings"]] == ["did you mean 'gateway'?"]

    def test_wrong_types_are_one_error(self, colleague: Colleague) -> None:
        for text in ("tools: []", "tools: { deny: 'x' }", "agents: [1]", "session: { sendPolicy: 3 }"):
            (colleague.home / "colleague.json").write_text(f"{{ {text} }}")
            said = colleague("config", "check")
            assert (said.code, said.out) == (1, ""), text
            assert said.err.startswith(f"✗ {colleague.home}/colleague.json:1:"), text

    def test_not_yet_is_said_at_the_start(self, colleague: Colleague) -> None:
        write(colleague, "channels: { slack: {} }", restricts=True)
        assert "warning: no effect yet: channels (colleague config check)" in serve(colleague).err
        assert "! settings: " in colleague("doctor").out


@pytest.mark.usefixtures("home")
class TestUnknownKeys:
    def test_every_command_says_so_once_and_goes_on(self, colleague: Colleague) -> None:
        write(colleague, "session: { sendPolcy: {} },")
        place = f"{colleague.home}/colleague.json:3:14"
        said = f"warning: {place}: session.sendPolcy is not a known key; did you mean 'sendPolicy'?"
        for command in (
            ("status",),
            ("run", "list", "--json"),
            ("model", "list"),
            ("mcp", "list"),
            ("expert", "run", SALES, "x", "--no-wait"),
            ("agent", "hi"),
        ):
            found = colleague(*command)
            assert (found.code, found.err.count(said)) == (0, 1), command

    def test_a_thousand_of_them(self, colleague: Colleague) -> None:
        write(colleague, ",".join(f"k{number}: 1" for number in range(1000)))
        said = colleague.ok("status")
        assert len([line for line in said.err.splitlines() if line.startswith("warning: ")]) == 6
        assert "warning: and 95 more: colleague config check" in said.err
        said = colleague.ok("config", "check")
        assert "from here on, 901 more keys like these" in said.out

    def test_none_in_a_clean_home(self, colleague: Colleague) -> None:
        assert colleague.ok("status").err == ""


class TestShow:
    def test_where_each_value_comes_from(self, colleague: Colleague, home: Path) -> None:
        write(
            colleague,
            "gateway: { port: 3, auth: { token: 'hush-hush' } },"
            " experts: { database: 'postgresql://u:hush@h/d' }",
            theirs="{tools: {exec: {timeoutSec: 3}}, agents: {defaults: {maxTurns: 7}}}",
        )
        said = colleague.ok("config", "show", "--json")
        found = {each["key"]: (each["value"], each["source"]) for each in json.loads(said.out)}
        assert found["gateway.port"] == (3, f"{home}/colleague.json:3:20")
        assert found["agents.defaults.maxTurns"] == (7, f"{home}/openclaw.json:1:64")
        assert found["agents.defaults.model.primary"][0] == "script/play.yaml"
        assert found["tools.exec.timeoutSeconds"][0] == 3
        assert "gateway.bind" not in found
        assert "hush" not in said.out
        every = json.loads(colleague.ok("config", "show", "--all", "--json").out)
        assert {"key": "gateway.bind", "value": "loopback", "source": "default"} in every


@pytest.mark.usefixtures("home")
def test_a_running_gateway_begins_no_run_under_a_new_restriction(colleague: Colleague) -> None:
    with serving(colleague):
        assert colleague.ok("agent", "hi").out == "hello\n"
        write(colleague, restricts=True)
        deadline = time.monotonic() + 240
        while (said := colleague("agent", "hi")).code == 0:
            assert time.monotonic() < deadline
        assert said.out == ""
        assert f"{PLACE}: {KEY} restricts agents, and nothing enforces it yet" in said.err
        assert f'remove {KEY}, or set it to "all"' in said.err
        shown = f"Settings: no run begins; nothing enforces {KEY} (colleague config check)"
        assert shown in colleague.ok("status").out
        write(colleague)
        while (said := colleague("agent", "hi")).code != 0:
            assert time.monotonic() < deadline
        assert said.out == "hello\n"
