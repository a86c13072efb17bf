"""What every command has in common: the home, errors as data, help, completion."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

from colleague.cli.app import COMMANDS, GROUPS, PANELS
from colleague.cli.examples import EXAMPLES, START
from tests.acceptance.test_docs import exists
from tests.conftest import EXAMPLE, ROOT, SALES, Colleague
from tests.forked import forked_command


class TestHome:
    def test_before_and_after_the_command(self, colleague: Colleague, tmp_path: Path) -> None:
        other = str(tmp_path / "other home")
        colleague.ok("--home", other, "expert", "install", str(EXAMPLE))
        for typed in (
            ("--home", other, "expert", "list", "--json"),
            (f"--home={other}", "expert", "list", "--json"),
            ("expert", "list", "--json", "--home", other),
            ("--home", str(colleague.home), "expert", "list", "--json", "--home", other),
        ):
            assert len(colleague.ok(*typed).json) == 1, typed
        assert colleague.ok("expert", "list", "--json").json == []

    @pytest.mark.parametrize("before", [True, False])
    def test_hints_repeat_it(self, before: bool, colleague: Colleague, tmp_path: Path) -> None:
        other = str(tmp_path / "other home")
        named = ("--home", other)

        def type_it(*arguments: str) -> str:
            said = colleague(*named, *arguments) if before else colleague(*arguments, *named)
            return said.out + said.err

        again = f"colleague --home '{other}' "
        assert f"Next: {again}expert install FOLDER|URL" in type_it("init")
        assert f"{again}expert bind {SALES} crm SERVER" in type_it("expert", "install", str(EXAMPLE))
        assert f"{again}expert bind {SALES} crm SERVER" in type_it("expert", "validate", SALES)
        assert f"see them with: {again}run list" in type_it("run", "show", "nothing")
        hint = json.loads(type_it("run", "show", "nothing", "--json"))["error"]["hint"]
        assert hint == f"see them with: {again}run list"

    def test_one_that_is_not_there_is_not_made_by_looking(self, colleague: Colleague, tmp_path: Path) -> None:
        other = tmp_path / "tpyo"
        for looking in (("run", "list"), ("status", "--json"), ("approve", "73f6fd53"), ("expert", "list")):
            said = colleague("--home", str(other), *looking)
            assert (said.code, f"there is no home {other}" in said.err) == (1, True), looking
        assert not other.exists()

    def test_without_it_they_are_as_they_were(self, colleague: Colleague) -> None:
        assert "Next: colleague expert install FOLDER|URL" in colleague.ok("init").out

    def test_data_stays_as_it_is(self, colleague: Colleague, package: Path, tmp_path: Path) -> None:
        rules = package / "persona" / "rules.md"
        rules.write_text(rules.read_text() + "\nType colleague run list to see more.\n")
        colleague.ok("expert", "install", str(package), "--home", str(tmp_path / "x"))
        said = colleague.ok("expert", "prompt", SALES, "--json", "--home", str(tmp_path / "x"))
        assert "Type colleague run list to see more." in said.json["prompt"]


ERRORS = [
    (("expert", "show", "nobody", "--json"), 1, "not-found"),
    (("trigger", "list", "nobody", "--json"), 1, "not-found"),
    (("expert", "install", "/no/such/folder", "--json"), 1, "package-invalid"),
    (("expert", "update", "--json"), 2, "bad-request"),
    (("expert", "list", "--json", "--nothing"), 2, "bad-request"),
    (("expert", "lst", "--json"), 2, "bad-request"),
    (("nothing", "--json"), 2, "bad-request"),
    (("run", "list", "--limit", "many", "--json"), 2, "bad-request"),
    (("expert", "show", "--json"), 2, "bad-request"),
    (("run", "show", "0123abcd", "--json"), 1, "not-found"),
]


@pytest.mark.parametrize(("typed", "code", "name"), ERRORS, ids=[" ".join(typed) for typed, _, _ in ERRORS])
def test_an_error_is_json_after_json(
    typed: tuple[str, ...], code: int, name: str, colleague: Colleague
) -> None:
    said = colleague(*typed)
    assert (said.code, said.out) == (code, "")
    document = json.loads(said.err)
    assert set(document) == {"error"}
    assert set(document["error"]) == {"code", "message", "hint"}
    assert document["error"]["code"] == name
    assert document["error"]["message"]
    assert colleague(*(word for word in typed if word != "--json")).code == code


def test_a_usage_error_says_where_help_is(colleague: Colleague) -> None:
    said = colleague("expert", "list", "--json", "--nothing")
    assert json.loads(said.err)["error"]["hint"] == "see: colleague expert list --help"


def test_json_after_two_dashes_is_not_ours(colleague: Colleague) -> None:
    said = colleague("mcp", "add", "bad name!", "--", "server", "--json")
    assert said.code != 0
    assert not said.err.startswith("{")


def test_exit_codes_stay(colleague: Colleague, package: Path) -> None:
    (package / "orchestrator.md").unlink()
    said = colleague("expert", "validate", str(package), "--json")
    assert (said.code, said.json["ok"]) == (1, False)


def offered(colleague: Colleague, line: str, **environment: str) -> set[str]:
    """What Bash would offer for the word that the line ends with."""
    words = line.split(" ")
    asked = {"_COLLEAGUE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    said = colleague(**(asked | environment))
    assert "Traceback" not in said.err
    return set(said.out.split())


class TestCompletion:
    @pytest.fixture
    def waiting(self, installed: Colleague) -> Colleague:
        """A home with a run that waits for a yes."""
        office = Path(EXAMPLE).parent / "office" / "server.py"
        command = forked_command(str(office), "--database", str(installed.home.parent / "office.sqlite"))
        installed.ok("mcp", "add", "office", "--demo", "--", *command)
        for tool in ("crm", "email", "calendar"):
            installed.ok("expert", "bind", SALES, tool, "office")
        process = ("--process", "inbound-email-triage", "--input", "message_id=m-acme-pricing")
        assert installed("expert", "run", SALES, *process, "--model", "rehearsal/walkthrough").code == 4
        return installed

    def test_names_and_ids(self, waiting: Colleague) -> None:
        approval = waiting.ok("approval", "list", "--json").json[0]["id"][-8:]
        run = waiting.ok("run", "list", "--json").json[0]["id"][-8:]
        assert offered(waiting, "colleague expert show ") == {SALES}
        assert offered(waiting, "colleague expert show x") == set()
        assert offered(waiting, "colleague run show ") == {run}
        assert offered(waiting, f"colleague run show {run[:3]}") == {run}
        for command in ("approve", "reject", "respond", "resolve", "approval show"):
            assert offered(waiting, f"colleague {command} ") == {approval}, command
        assert offered(waiting, f"colleague trigger fire {SALES} ") == {"new_email", "opportunity_scan"}
        processes = {"inbound-email-triage", "scan-for-opportunities"}
        assert offered(waiting, f"colleague expert run {SALES} --process ") == processes
        assert offered(waiting, "colleague deadletter show ") == set()
        assert offered(waiting, "colleague learning approve ") == set()

    def test_of_the_home_that_was_typed(self, installed: Colleague, tmp_path: Path) -> None:
        elsewhere = {"OPENCLAW_STATE_DIR": str(tmp_path / "nowhere")}
        assert offered(installed, "colleague expert show ", **elsewhere) == set()
        before = f"colleague --home {installed.home} expert show "
        assert offered(installed, before, **elsewhere) == {SALES}
        after = f"colleague expert show --home {installed.home} "
        assert offered(installed, after, **elsewhere) == {SALES}

    @pytest.mark.parametrize("damage", ["no home", "settings", "database", "registry"])
    def test_it_never_fails_loudly(self, damage: str, colleague: Colleague) -> None:
        if damage != "no home":
            colleague.ok("init")
        if damage == "settings":
            (colleague.home / "colleague.json").write_text("{ broken")
        if damage == "database":
            (colleague.home / "state" / "colleague.sqlite").write_bytes(b"broken" * 1000)
        if damage == "registry":
            (colleague.home / "state" / "experts.json").write_text("broken")
        before = set(colleague.home.rglob("*"))
        for line in ("colleague run show ", "colleague approve ", "colleague expert show "):
            assert offered(colleague, line) == set()
        assert set(colleague.home.rglob("*")) == before


class TestHelp:
    def test_groups_and_examples(self, colleague: Colleague) -> None:
        said = colleague.ok("--help", COLUMNS="120").out
        places = [said.index(f"─ {panel} ─") for panel in ("Work", "Watch", "Decide", "Set up")]
        assert places == sorted(places)
        for line in START:
            assert f" {line}" in said

    def test_examples_of_a_command(self, colleague: Colleague) -> None:
        said = colleague.ok("expert", "install", "--help", COLUMNS="120").out
        for line in EXAMPLES["expert install"]:
            assert any(each.strip() == line for each in said.splitlines()), line

    def test_a_sentence_goes_on_to_the_end_of_the_line(self, colleague: Colleague) -> None:
        said = colleague.ok("run", "fork", "--help", COLUMNS="500").out
        assert "From there on everything is done anew, and a person is asked anew. A step begins" in said
        assert "Over a pipe, each line is sent after" in colleague.ok("--help", COLUMNS="500").out

    def test_every_command_is_in_one_panel(self) -> None:
        names = [name for panel in PANELS.values() for name in panel]
        assert sorted(names) == sorted([*GROUPS, *COMMANDS])
        modules = {file.stem for file in (ROOT / "src" / "colleague" / "cli").glob("*.py")}
        groups = {name for name in modules if hasattr(import_module(f"colleague.cli.{name}"), "app")}
        assert set(GROUPS) == groups - {"app", "main"}

    @pytest.mark.parametrize("line", [*START, *(line for lines in EXAMPLES.values() for line in lines)])
    def test_an_example_can_be_typed(self, line: str) -> None:
        assert exists(line.removeprefix("colleague "))

    def test_every_example_belongs_to_a_command(self) -> None:
        for path in EXAMPLES:
            assert exists(path), path


@pytest.mark.parametrize("command", [("approve", "zzzz"), ("reject", "zzzz"), ("learning", "show", "zzzz")])
def test_what_does_not_exist_is_told_in_json(installed: Colleague, command: tuple[str, ...]) -> None:
    said = installed(*command, "--json")
    error = json.loads(said.err)["error"]
    assert (said.code, error["code"]) == (1, "not-found")
    assert f"there is no {'learning' if 'learning' in command else 'approval'} 'zzzz'" in error["message"]
    assert "--home" not in error["hint"]
