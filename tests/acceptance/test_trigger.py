"""Triggers and events, as a person at a terminal has them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from colleague.experts.install import install_expert
from colleague.experts.registry import set_enabled
from colleague.home import Home
from colleague.packages.source import Source
from tests.conftest import Colleague
from tests.forked import forked_command
from tests.integration.experts.package import CLERK, Package, process, text
from tests.integration.mcp.support import free_port
from tests.integration.triggers.desk import by_key, cron, webhook


@pytest.fixture
def clerk(colleague: Colleague, tmp_path: Path) -> Colleague:
    """A home with an enabled clerk who says what a script says."""
    work = process(steps=(), inputs=[text("id", required=False)])
    triggers = [
        by_key("who", dedupe_key="id"),
        cron("0 8 * * *", tz="Europe/Berlin"),
        webhook("plain", concurrency="serial"),
    ]
    folder = Package(files={"processes/work.md": work}, manifest={"triggers": triggers}).write(
        tmp_path / "package"
    )
    home = Home(colleague.home)
    install_expert(home, home.workspace, Source("folder", str(folder)), name=CLERK, progress=lambda _: None)
    (colleague.home / "play.yaml").write_text('{"replies": [{"text": "It is done."}]}')
    settings = {
        "gateway": {"port": free_port(), "auth": {"token": "a-gateway-token"}},
        "experts": {"model": "script/play.yaml"},
        "agents": {"defaults": {"model": "script/play.yaml"}},
    }
    (colleague.home / "colleague.json").write_text(json.dumps(settings))
    (colleague.home / "colleague.json").chmod(0o600)
    (colleague.expert(CLERK) / "bindings.yaml").write_text('{"model": "script/play.yaml"}')
    set_enabled(home, CLERK, True)
    return colleague


@contextmanager
def serving(colleague: Colleague) -> Iterator[None]:
    """A gateway beside the commands."""
    command = forked_command("-m", "colleague", "serve", "--port", str(free_port()))
    with subprocess.Popen(
        command, env=colleague.environment({}), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as served:
        try:
            assert served.stdout is not None
            assert "listens on" in served.stdout.readline()
            yield
        finally:
            served.terminate()
            served.wait(120)


def listed(colleague: Colleague) -> dict[str, dict[str, object]]:
    return {each["trigger"]: each for each in colleague.ok("trigger", "list", "--json").json}


def test_a_trigger_is_listed_fired_looked_up_paused_and_resumed(clerk: Colleague) -> None:
    found = listed(clerk)
    assert [found[name]["state"] for name in ("order", "tick", "plain")] == ["active"] * 3
    assert (found["order"]["concurrency"], found["order"]["concurrency_key"]) == ("serial_per_key", "who")
    assert found["tick"]["handler"] == "cron: 0 8 * * * Europe/Berlin"
    assert found["tick"]["next_at"] is not None
    assert found["tick"]["last_at"] is None
    table = clerk.ok("trigger", "list", CLERK).out
    assert "order" in table
    assert "active" in table

    payload = json.dumps({"id": "m1", "who": "ada"})
    done = clerk.ok("trigger", "fire", CLERK, "order", "--payload", payload, "--json").json
    assert (done["outcome"], done["narrative"]) == ("completed", "It is done.")
    again = clerk.ok("trigger", "fire", CLERK, "order", "--payload", payload)
    assert "known already" in again.err

    shown = clerk.ok("event", "show", done["event_id"][-8:], "--json").json
    assert (shown["accepted"]["duplicates"], shown["outcome"]) == (1, "completed")
    said = clerk.ok("event", "show", done["event_id"]).out
    assert "1 repeats" in said
    assert "completed" in said
    [listed_event] = clerk.ok("event", "list", "--json").json
    assert (listed_event["id"], listed_event["state"]) == (done["event_id"], "completed")

    assert "is paused" in clerk.ok("trigger", "pause", CLERK, "order").out
    assert "already" in clerk.ok("trigger", "pause", CLERK, "order").out
    held = clerk.ok("trigger", "fire", CLERK, "order", "--payload", '{"id": "m2", "who": "ada"}')
    assert "held" in held.err
    assert (listed(clerk)["order"]["state"], listed(clerk)["order"]["held"]) == ("paused", 1)
    assert "1 held event has its run now" in clerk.ok("trigger", "resume", CLERK, "order").out
    assert "was not paused" in clerk.ok("trigger", "resume", CLERK, "order").out
    assert listed(clerk)["order"]["queued"] == 1


def test_a_payload_may_be_a_file_and_a_wrong_one_is_told(clerk: Colleague, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"id": "from a file"}')
    accepted = clerk.ok("trigger", "fire", CLERK, "plain", "--payload", str(file), "--no-wait", "--json").json
    assert accepted["run_id"]
    for wrong, word in {
        "{": "no JSON",
        str(tmp_path / "missing"): "No such file",
        "": "give a file",
        '{"id": "\\ud800"}': "surrogate",
        '{"id": NaN}': "no JSON",
        "[" * 100_000: "no JSON",
    }.items():
        said = clerk("trigger", "fire", CLERK, "plain", "--payload", wrong)
        assert said.code == 2, said
        assert word in said.err, said
        assert "Traceback" not in said.err
    assert len(clerk.ok("event", "list", "--json").json) == 1


def test_what_is_not_there_or_off_is_named(clerk: Colleague) -> None:
    assert "order" in clerk("trigger", "fire", CLERK, "ordre").err
    assert clerk("trigger", "pause", "nobody", "order").code == 1
    assert "no event" in clerk("event", "show", "ffffffff").err
    clerk.ok("expert", "disable", CLERK)
    said = clerk("trigger", "fire", CLERK, "order")
    assert said.code == 1
    assert f"colleague expert enable {CLERK}" in said.err
    assert listed(clerk)["order"]["problem"] == f"{CLERK} is disabled"


def test_an_expert_that_cannot_be_read_is_told_in_the_list(clerk: Colleague) -> None:
    (clerk.expert(CLERK) / "expert.yaml").write_text("spec: [")
    said = clerk.ok("trigger", "list")
    assert f"{CLERK} cannot be read" in said.err


def test_events_that_were_skipped_or_warned_of_say_why(clerk: Colleague) -> None:
    accepted = clerk.ok("trigger", "fire", CLERK, "order", "--no-wait", "--json").json
    shown = clerk.ok("event", "show", accepted["event_id"]).out
    assert "warning: 'who' is no single value" in shown


def test_with_a_gateway_the_same_commands_ask_it(clerk: Colleague) -> None:
    with serving(clerk):
        done = clerk.ok("trigger", "fire", CLERK, "plain", "--payload", '{"id": "1"}', "--json").json
        assert done["outcome"] == "completed"
        assert "is paused" in clerk.ok("trigger", "pause", CLERK, "plain").out
        held = clerk.ok("trigger", "fire", CLERK, "plain", "--payload", '{"id": "2"}')
        assert "held" in held.err
        assert "1 held event has its run now" in clerk.ok("trigger", "resume", CLERK, "plain").out
        clerk.ok("trigger", "fire", CLERK, "plain", "--payload", '{"id": "3"}')
        states = [each["state"] for each in clerk.ok("event", "list", "--json").json]
        assert states == ["completed"] * 3, "what was held has run before what came later"
        said = clerk("doctor")
        assert "gateway: pid" in said.out


def test_the_doctor_says_what_is_wrong_and_how_to_cure_it(clerk: Colleague) -> None:
    found = {each["about"]: each for each in clerk("doctor", "--json").json}
    assert (found["database"]["level"], found[f"expert {CLERK}"]["level"]) == ("ok", "ok")
    assert found["gateway"]["cure"] == "start it with: colleague serve"
    (clerk.expert(CLERK) / "processes" / "work.md").unlink()
    clerk.home.joinpath("colleague.json").chmod(0o644)
    said = clerk("doctor", "--json")
    found = {(each["about"], each["level"]): each for each in said.json}
    assert said.code == 1
    assert found[f"expert {CLERK}", "error"]["cure"] == f"colleague expert validate {CLERK}"
    assert "colleague.json" in found["permissions", "warning"]["message"]
    assert found["permissions", "warning"]["cure"] == "colleague doctor --fix"


def test_the_doctor_of_a_home_that_is_not_there(colleague: Colleague) -> None:
    said = colleague("doctor")
    assert said.code == 1
    assert "colleague init" in said.out
