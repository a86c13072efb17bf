"""Settings tell the truth: what has no effect is said."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE, SALES, Colleague, Said
from tests.forked import forked_command

SCRIPT = "replies: [{when: /./, text: hello}]"
REHEARSED = ("--process", "scan-for-opportunities", "--dry-run", "--model", "rehearsal/walkthrough")
AGENTS = "  agents: { defaults: { model: 'script/play.yaml' } },"


@pytest.fixture
def home(colleague: Colleague) -> Path:
    """A home whose main agent answers, with one expert."""
    colleague.ok("init")
    colleague.ok("expert", "install", str(EXAMPLE))
    (colleague.home / "play.yaml").write_text(SCRIPT)
    write(colleague)
    return colleague.home


def write(colleague: Colleague, text: str = "", *, theirs: str = "") -> None:
    (colleague.home / "colleague.json").write_text(f"{{\n{AGENTS}\n  {text}\n}}")
    if theirs:
        (colleague.home / "openclaw.json").write_text(theirs)


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
    def test_a_value_that_restricts_nothing_is_accepted(self, colleague: Colleague) -> None:
        write(
            colleague,
            'tools: { profile: "minimal", allow: ["*"], deny: ["x"], byProvider: { x: { deny: [] } } },'
            ' session: { sendPolicy: { default: "allow", rules: [{ action: "allow" }] } }',
        )
        assert colleague.ok("agent", "hi").out == "hello\n"
        assert colleague.ok("config", "check").out == "✓ every key that is set has an effect\n"


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
        assert said.out == "✓ every key that is set has an effect\n"
        told = colleague("doctor").out
        assert "! agents: identity.avatar of the agent other: " in told


@pytest.mark.usefixtures("home")
class TestCheck:
    def test_by_list(self, colleague: Colleague) -> None:
        write(colleague, "gatway: {}, channels: { slack: { token: 'x' }, chat: { allowFrom: ['ann'] } }")
        said = colleague("config", "check")
        file = f"{colleague.home}/colleague.json"
        assert (said.code, said.err) == (0, "")
        assert said.out.splitlines() == [
            "! These have no effect. They may stay in the file; do not rely on them.",
            f"  {file}:3:27: channels.slack has no effect: no plugin here has this channel",
            "    enable a plugin that has it (colleague plugin list), or set its enabled to false",
            "! These are not known, or count for nothing.",
            f"  {file}:3:3: gatway is not a known key",
            "    did you mean 'gateway'?",
        ]

    def test_as_json(self, colleague: Colleague) -> None:
        write(colleague, "gatway: {}, channels: { slack: { token: 'x' } }")
        found = json.loads(colleague.ok("config", "check", "--json").out)
        assert (found["ok"], found["restricts"]) == (True, [])
        assert [(each["key"], each["line"]) for each in found["not_yet"]] == [("channels.slack", 3)]
        assert [each["hint"] for each in found["warnings"]] == ["did you mean 'gateway'?"]

    def test_wrong_types_are_one_error(self, colleague: Colleague) -> None:
        for text in ("tools: []", "tools: { deny: 'x' }", "agents: [1]", "session: { sendPolicy: 3 }"):
            (colleague.home / "colleague.json").write_text(f"{{ {text} }}")
            said = colleague("config", "check")
            assert (said.code, said.out) == (1, ""), text
            assert said.err.startswith(f"✗ {colleague.home}/colleague.json:1:"), text

    def test_what_has_no_effect_is_said_at_the_start(self, colleague: Colleague) -> None:
        write(
            colleague, "channels: { slack: { token: 'x' } }, gateway: { bind: 'lan', auth: { mode: 'none' } }"
        )
        assert "warning: no effect: channels.slack (colleague config check)" in serve(colleague).err
        assert "channels.slack has no effect: no plugin here has this channel" in colleague("doctor").out


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
            ("expert", "run", SALES, *REHEARSED, "--no-wait"),
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
