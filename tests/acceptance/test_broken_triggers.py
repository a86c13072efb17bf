"""A trigger that cannot work says so wherever a person looks: validate, enable, doctor, lists, serve."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.acceptance.test_serve_lines import serving
from tests.conftest import SALES, Colleague
from tests.forked import forked_command
from tests.office import SERVER

SERVE = ("-m", "colleague", "serve", "--port", "0")
MISSING = "new_email has no secret, so every request is refused"


def cure(colleague: Colleague) -> str:
    file = colleague.expert() / "bindings.yaml"
    return f"set triggers.new_email.secret in {file}, or hooks.token in colleague.json"


@pytest.fixture
def sales(colleague: Colleague) -> Colleague:
    """The example with all its tools bound, and no secret anywhere."""
    colleague.home.mkdir()
    (colleague.home / "colleague.json").write_text('{"gateway": {"auth": {"token": "a-token"}}}')
    office = forked_command(str(SERVER), "--database", str(colleague.home.parent / "office.sqlite"))
    colleague.ok("mcp", "add", "office", "--", *office)
    colleague.ok("expert", "install", str(Path(SERVER).parents[1] / SALES))
    for tool in ("crm", "email", "calendar"):
        colleague.ok("expert", "bind", SALES, tool, "office")
    return colleague


def bind_secret(colleague: Colleague, secret: str) -> None:
    with (colleague.expert() / "bindings.yaml").open("a") as file:
        file.write(f"triggers:\n  new_email:\n    secret: {json.dumps(secret)}\n")


def bind_model(colleague: Colleague, model: str) -> int:
    """The line on which it stands."""
    file = colleague.expert() / "bindings.yaml"
    file.write_text(f"{file.read_text()}model: {model}\n")
    return file.read_text().count("\n")


def test_a_webhook_without_a_secret(sales: Colleague) -> None:
    told_cure = cure(sales)
    said = sales("expert", "validate", SALES)
    assert said.code == 1
    assert "✗ Triggers ready, off until" in said.out
    assert f"error   expert.yaml:70: {MISSING} [trigger-secret-missing]\n        {told_cure}\n" in said.out
    [finding] = sales("expert", "validate", SALES, "--json").json["findings"]
    assert (finding["code"], finding["file"], finding["line"]) == (
        "trigger-secret-missing",
        "expert.yaml",
        70,
    )
    assert sales("expert", "validate", SALES, "--offline").code == 0

    said = sales("expert", "enable", SALES)
    assert said.code == 1
    assert f"✓ {SALES} is enabled\n  ✗ new_email (webhook/gmail)" in said.out
    assert "\n  opportunity_scan (cron" in said.out
    assert f"✗ new_email cannot work: {MISSING}\n    {told_cure}\n" in said.err
    assert sales.ok("expert", "list", "--json").json[0]["enabled"] is True

    listed = {each["trigger"]: each for each in sales.ok("trigger", "list", "--json").json}
    problem = {"code": "trigger-secret-missing", "message": MISSING, "cure": told_cure}
    assert listed["new_email"]["problems"] == [problem]
    assert listed["opportunity_scan"]["problems"] == []
    table = sales.ok("trigger", "list")
    assert "PROBLEMS" in table.out
    assert told_cure in table.err
    assert f"Cannot work: {SALES}/new_email: {MISSING}" in sales.ok("status").out
    doctor = sales("doctor", "--json")
    found = {each["about"]: each for each in doctor.json}
    assert found[f"trigger {SALES}/new_email"]["cure"] == told_cure
    assert doctor.code == 1

    lines, document = served(sales)
    assert lines[0].startswith("Colleague listens on")
    assert lines[1] == f"trigger {SALES}/new_email cannot work: {MISSING} ({told_cure})\n"
    assert [each["problems"] for each in document if each["trigger"] == "new_email"] == [[problem]]


def test_what_cannot_work_is_said_once(sales: Colleague) -> None:
    """In the first lines, also under --quiet, and not once more as a line of the log."""
    bind_model(sales, "rehearsal/walkthrough")
    assert sales("expert", "enable", SALES).code == 1
    fault = f"trigger {SALES}/new_email cannot work"
    for options in ((), ("--quiet",)):
        with serving(sales, *options) as gateway:
            pass
        assert [line.partition(":")[0] for line in gateway.out if "cannot work" in line] == [fault]
    with serving(sales, "--log-json") as gateway:
        pass
    first, *rest = [json.loads(line) for line in gateway.out]
    assert [each.partition(":")[0] for each in first["problems"]] == [fault]
    assert not [each for each in rest if "cannot work" in json.dumps(each)]


def served(colleague: Colleague) -> tuple[list[str], Any]:
    """The first two lines of a gateway, and its list of triggers."""
    environment = colleague.environment({})
    with subprocess.Popen(
        forked_command(*SERVE), env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline(), process.stdout.readline()]
            url = lines[0].split()[3].rstrip(";")
            found = httpx2.get(
                f"{url}/api/triggers", headers={"Authorization": "Bearer a-token"}, timeout=120
            )
            return lines, found.json()
        finally:
            process.terminate()
            process.wait(120)


@pytest.mark.parametrize(("value", "code"), [(None, 1), ("", 1), ("hunter2hunter2", 0)])
def test_a_secret_in_a_variable(sales: Colleague, value: str | None, code: int) -> None:
    bind_secret(sales, "${MAIL_SECRET}")
    environment = {} if value is None else {"MAIL_SECRET": value}
    for command in ("validate", "enable"):
        said = sales("expert", command, SALES, **environment)
        assert said.code == code, said
        told = "the environment variable MAIL_SECRET is not set; every request is refused"
        assert (told in said.out + said.err) == bool(code)
        assert ("set MAIL_SECRET where colleague serve is started" in said.out + said.err) == bool(code)
        assert "hunter2" not in said.out + said.err


def test_the_gateways_variables_count_while_it_runs(sales: Colleague) -> None:
    """The shell in which a person types has other variables than the gateway, and refuses nothing."""
    bind_secret(sales, "${MAIL_SECRET}")
    secret = {"MAIL_SECRET": "hunter2hunter2"}
    sales.ok("expert", "enable", SALES, **secret)
    with serving(sales, **secret) as gateway:
        assert [each["problems"] for each in sales.ok("trigger", "list", "--json").json] == [[], []]
        assert "Cannot work" not in sales.ok("status").out
        assert f"trigger {SALES}/new_email" not in sales("doctor").out
        sales.ok("expert", "validate", SALES)
        sales.ok("expert", "enable", SALES)
        url = f"{gateway.out[0].split()[3].rstrip(';')}/hooks/{SALES}/new_email"
        refused = httpx2.post(url, json={}, headers={"Authorization": "Bearer wrong"}, timeout=60)
        assert refused.status_code == 401
        gateway.until(
            lambda each: any(f"! a request to /hooks/{SALES}/new_email" in line for line in each.out)
        )


def test_no_model_for_what_wakes_by_itself(sales: Colleague) -> None:
    """Nobody is there who could be told when its first event comes."""
    bind_secret(sales, "a-secret-of-its-own")
    with serving(sales) as gateway:
        assert gateway.out[0].endswith("enabled experts: none yet\n"), "nothing runs yet"
    sales.ok("expert", "enable", SALES)
    with serving(sales) as gateway:
        assert f"problems: runs of {SALES} fail: no model configured (add one with: " in gateway.out[0]
        address = f"{gateway.out[0].split()[3].rstrip(';')}/api/experts/{SALES}/check"
        headers = {"Authorization": "Bearer a-token"}
        [found] = httpx2.post(address, json={}, headers=headers, timeout=120).json()["findings"]
        assert (found["code"], found["severity"]) == ("model-unusable", "warning")
        assert found["message"] == "its runs fail: no model configured"
    line = bind_model(sales, "somewhere/m1")
    with serving(sales) as gateway:
        assert f"problems: runs of {SALES} fail: there is no model provider 'somewhere'" in gateway.out[0]
    told = f"warning bindings.yaml:{line}: there is no model provider 'somewhere' [binding-model-unknown]\n"
    assert told in sales.ok("expert", "validate", SALES).out


@pytest.mark.parametrize("model", ["rehearsal/walkthrough", "openai/gpt-5-mini"])
def test_a_model_that_exists_is_no_finding(sales: Colleague, model: str) -> None:
    """Whether its key is set is for the process that makes the runs."""
    bind_secret(sales, "a-secret-of-its-own")
    bind_model(sales, model)
    assert sales.ok("expert", "validate", SALES, "--json").json["findings"] == []


def test_a_key_that_only_the_shell_has(sales: Colleague) -> None:
    """The gateway says at its start which variable it lacks, and to whoever talks to it where to set it."""
    lab = ("--provider", "openai-compatible", "--base-url", "http://127.0.0.1:9/v1", "--model", "m1")
    sales.ok("model", "add", "lab", *lab, "--api-key-env", "LAB_KEY", "--default")
    with serving(sales) as gateway:
        assert (
            "problems: models.providers.lab.apiKey: the environment variable LAB_KEY is not set"
            in gateway.out[0]
        )
        said = sales("agent", "hello", LAB_KEY="set-in-the-shell")
        assert said.code == 1
        assert "the gateway says: models.providers.lab.apiKey: the environment variable LAB_KEY" in said.err
        assert "set LAB_KEY where colleague serve is started, and start it again" in said.err
        later = sales.ok("model", "add", "other", *lab, "--default")
        assert "The gateway takes it over when it is started again." in later.err
        gateway.until(lambda each: any("start the gateway again for" in line for line in each.out))


def test_mail_that_its_server_cannot_list(sales: Colleague) -> None:
    """Only a server that is asked shows this, so validate does."""
    bind_secret(sales, "a-secret-of-its-own")
    sales.ok("expert", "validate", SALES)
    sales.ok(
        *("expert", "bind", SALES, "email", "office"),
        *("--operation", "list_history=gone", "--operation", "list_messages=gone"),
    )
    said = sales("expert", "validate", SALES)
    assert said.code == 1
    assert "the MCP server 'office' has no operation that lists messages [trigger-mail-lookup]" in said.out
    assert f"colleague expert bind {SALES} email SERVER --operation list_history=TOOL" in said.out


def test_doctor_and_lists_say_what_the_gateway_has(sales: Colleague) -> None:
    """Its key of a model and its variable of a server where the shell has neither, and vice versa."""
    lab = ("--provider", "openai-compatible", "--base-url", "http://127.0.0.1:9/v1", "--model", "m1")
    sales.ok("model", "add", "lab", *lab, "--api-key-env", "LAB_KEY", "--default")
    office = forked_command(str(SERVER), "--database", str(sales.home.parent / "other.sqlite"))
    sales.ok("mcp", "add", "other", "--env", "KEY=${OTHER_KEY}", "--", *office)

    def found(**environment: str) -> tuple[dict[str, Any], dict[str, Any]]:
        listed = {each["name"]: each for each in sales.ok("model", "list", "--json", **environment).json}
        return {each["about"]: each for each in sales("doctor", "--json", **environment).json}, listed

    with serving(sales, LAB_KEY="a-key", OTHER_KEY="x"):
        checks, models = found()
        assert models["lab/m1"]["key"] == "set"
        assert checks["model"]["level"] == checks["MCP server other"]["level"] == "ok"
        assert checks["MCP server other"]["message"].endswith("tools, in the gateway")
    with serving(sales):
        checks, models = found(LAB_KEY="a-key")
        assert models["lab/m1"]["key"] == "missing"
        assert checks["model"]["level"] == "error"
        assert checks["model"]["message"].startswith("the gateway says: models.providers.lab.apiKey")
    checks, models = found(LAB_KEY="a-key")
    assert (models["lab/m1"]["key"], checks["model"]["level"]) == ("set", "ok")
