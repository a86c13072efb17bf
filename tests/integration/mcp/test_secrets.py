"""Secrets reach the server they are for, and nothing else."""

from __future__ import annotations

import pytest

from colleague.config import Settings
from colleague.mcp.errors import ServerDown, Unknown
from colleague.mcp.launch import prepare
from colleague.mcp.log import MAX_BYTES
from colleague.mcp.servers import Servers
from colleague.redaction import HIDDEN
from tests.integration.mcp.support import BARE, Bench, as_json

TOKEN = "tok-5ecret-value"  # noqa: S105
OURS = "sk-ant-our-own-key"


@pytest.fixture
def secretive(bench: Bench) -> Bench:
    bench.environ |= {"MY_TOKEN": TOKEN, "ANTHROPIC_API_KEY": OURS, "LC_ALL": "C.UTF-8", "HOME": "/nowhere"}
    bench.environ |= {"HTTPS_PROXY": "http://user:pass@proxy:1", "HTTP_PROXY": "http://proxy:1"}
    return bench


def test_a_server_gets_its_own_secret_and_none_of_ours(secretive: Bench) -> None:
    secretive.stdio("desk", BARE, env={"SECRET": "${MY_TOKEN}"})

    async def work(servers: Servers) -> dict[str, str]:
        found: dict[str, str] = as_json(await servers.call("desk", "environment", {}, key="k"))
        return found

    found = secretive.run(work)
    assert (found["SECRET"], found["HOME"], found["LC_ALL"]) == (TOKEN, "/nowhere", "C.UTF-8")
    assert (found["HTTP_PROXY"], "HTTPS_PROXY" in found) == ("http://proxy:1", False)
    assert not {"ANTHROPIC_API_KEY", "MY_TOKEN"} & found.keys()


def test_no_secret_in_logs_and_errors(secretive: Bench) -> None:
    secretive.stdio("desk", BARE, env={"SECRET": "${MY_TOKEN}"})

    async def work(servers: Servers) -> str:
        await servers.call("desk", "say", {"text": f"logging in with {TOKEN} and {OURS}"}, key="k1")
        with pytest.raises(Unknown) as error:
            await servers.call("desk", "crash", {}, key="k2")
        return f"{error.value} {error.value.hint} {await servers.status()}"

    said = secretive.run(work) + secretive.log("desk")
    assert f"logging in with {HIDDEN} and {HIDDEN}" in said
    assert f"about to crash with {HIDDEN}" in said
    assert TOKEN not in said
    assert OURS not in said


@pytest.mark.parametrize("stream", ["stderr", "stdout"])
def test_no_secret_in_the_reason_of_a_failed_start(secretive: Bench, stream: str) -> None:
    code = f"import os, sys; print('bad key', os.environ['SECRET'], file=sys.{stream}); sys.exit(1)"
    secretive.stdio("desk", ["-c", code], env={"SECRET": "Bearer ${MY_TOKEN}"})

    async def work(servers: Servers) -> str:
        with pytest.raises(ServerDown, match="bad key") as error:
            await servers.tools("desk")
        return error.value.message

    assert TOKEN not in secretive.run(work) + secretive.log("desk")


def test_no_secret_of_a_url_in_errors(secretive: Bench) -> None:
    url = "http://me:hunter2-hunter2@127.0.0.1:9/mcp?key=${MY_TOKEN}"
    secretive.http("remote", url, headers={"Authorization": "Bearer ${MY_TOKEN}"})

    async def work(servers: Servers) -> str:
        with pytest.raises(ServerDown) as error:
            await servers.tools("remote")
        return f"{error.value.message} {error.value.hint} {await servers.status()}"

    said = secretive.run(work)
    assert "http://127.0.0.1:9/mcp refused the connection" in said
    assert TOKEN not in said
    assert "hunter2" not in said


def test_no_secret_in_what_is_shown_of_a_launch() -> None:
    entry = {
        "command": "npx",
        "args": ["--token", "plain-text-token", "--api-key=another-one", "-y", "it"],
        "env": {"KEY": TOKEN},
    }
    server = Settings.model_validate({"mcp": {"servers": {"it": entry}}}).mcp.servers["it"]
    launch = prepare("it", server, {})
    shown = f"{launch!r} {launch.redact('plain-text-token another-one ' + TOKEN)}"
    assert TOKEN not in shown
    assert "plain-text-token" not in shown
    assert "another-one" not in shown


def test_the_log_is_cut_when_it_grows(secretive: Bench) -> None:
    secretive.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        for number in range(4):
            arguments = {"text": "x" * 1000, "times": MAX_BYTES // 3000}
            await servers.call("desk", "say", arguments, key=f"k{number}")

    secretive.run(work)
    logs = {file.name: file.stat().st_size for file in (secretive.root / "logs").iterdir()}
    assert logs.keys() == {"mcp-desk.log", "mcp-desk.log.1"}
    assert max(logs.values()) <= MAX_BYTES


def test_a_secret_on_an_endless_line_is_hidden_too(secretive: Bench) -> None:
    code = f"import sys; sys.stderr.write('x' * 65530 + {TOKEN!r} + 'y' * 70000 + {TOKEN!r}); sys.exit(1)"
    secretive.stdio("desk", ["-c", code], env={"SECRET": "${MY_TOKEN}"})

    async def work(servers: Servers) -> None:
        with pytest.raises(ServerDown):
            await servers.tools("desk")

    secretive.run(work)
    log = secretive.log("desk").replace("\n", "")
    assert log.count(HIDDEN) == 4, "two starts, two secrets each"
    assert "5ecret" not in log
