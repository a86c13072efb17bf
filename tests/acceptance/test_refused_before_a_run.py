"""What is wrong before a run exists refuses the command; nothing is stored."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from colleague.agent.models.builtin import BUILT_IN
from tests.conftest import SALES, Colleague
from tests.forked import forked_command
from tests.office import Office

NO_KEYS = {name: "" for each in BUILT_IN.values() for name in each.variables}
TRIAGE = ("--process", "inbound-email-triage", "--input", "message_id=m-acme-pricing")
REHEARSAL = ("--model", "rehearsal/walkthrough")
LOCAL = {"local": {"baseUrl": "http://127.0.0.1:9/v1", "models": [{"id": "m1"}]}}


def stored(home: Path) -> list[int]:
    """How many events and runs there are."""
    file = home / "state" / "colleague.sqlite"
    with sqlite3.connect(file) as database:
        return [database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("events", "runs")]  # noqa: S608


@pytest.fixture
def office(colleague: Colleague) -> Office:
    office = Office.open(colleague, demo=False)
    office.employ(SALES)
    return office


CASES = {
    "no model": (["agent", "hello"], "no model configured"),
    "no model for an expert": (["expert", "run", SALES, "Look."], "no model configured"),
    "unknown provider": (
        ["agent", "hello", "--model", "nobody/knows"],
        "there is no model provider 'nobody'",
    ),
    "unknown model": (["expert", "run", SALES, "Look.", "--model", "local/m2"], "has no model 'm2'"),
    "no key": (["agent", "hello", "--model", "openai/gpt-5"], "openai/gpt-5 needs a key"),
    "rehearsal": (
        ["expert", "run", SALES, *TRIAGE, *REHEARSAL],
        "a rehearsal acts only on servers marked demo",
    ),
    "no model for a trigger": (["trigger", "fire", SALES, "opportunity_scan"], "no model configured"),
    "no script": (["agent", "hello", "--model", "script/none.yaml"], "none.yaml"),
}


def add_local(home: Path) -> None:
    """Into the file that Colleague reads beside its own."""
    (home / "openclaw.json").write_text(json.dumps({"models": {"providers": LOCAL}}))


@pytest.mark.parametrize("case", CASES)
def test_a_command_is_refused_and_makes_no_run(office: Office, case: str) -> None:
    command, words = CASES[case]
    office.colleague("expert", "enable", SALES)
    add_local(office.colleague.home)
    said = office.colleague(*command, **NO_KEYS)
    assert said.code == 1, said
    assert words in said.err
    assert said.out == ""
    assert stored(office.colleague.home) == [0, 0]


def test_broken_bindings_refuse_the_expert(office: Office) -> None:
    add_local(office.colleague.home)
    (office.colleague.expert() / "bindings.yaml").write_text("tools: [crm\n")
    said = office.colleague("expert", "run", SALES, "Look.", "--model", "local/m1")
    assert said.code == 1
    assert "bindings.yaml:" in said.err
    assert stored(office.colleague.home) == [0, 0]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("", "the tool 'crm' of radiant-sales-expert is bound to nothing"),
        ("  crm: hubspot\n", "crm is bound to MCP server 'hubspot', which is not configured"),
    ],
    ids=["no binding", "no server"],
)
def test_a_tool_that_nothing_provides_refuses_the_expert(office: Office, broken: str, words: str) -> None:
    """The same words at a command, at a gateway, and by a process that needs the tool."""
    add_local(office.colleague.home)
    (office.colleague.expert() / "bindings.yaml").write_text(
        f"tools:\n  email: office\n  calendar: office\n{broken}"
    )
    model = ("--model", "local/m1")
    for what in (("Look.",), TRIAGE):
        said = office.colleague("expert", "run", SALES, *what, *model)
        assert (said.code, said.out) == (1, "")
        assert words in said.err
    with serving(office.colleague):
        assert words in office.colleague("expert", "run", SALES, "Look.", *model).err
    assert stored(office.colleague.home) == [0, 0]


@contextmanager
def serving(colleague: Colleague) -> Iterator[str]:
    command = forked_command("-m", "colleague", "serve", "--port", "0")
    environment = colleague.environment(NO_KEYS)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[3].rstrip(";")
        finally:
            process.terminate()
            assert process.wait(120) == 0


def test_http_says_the_same_and_stores_nothing(office: Office) -> None:
    colleague = office.colleague
    add_local(colleague.home)
    with serving(colleague) as url:
        token = (colleague.home / "state" / "gateway.token").read_text().strip()
        asked: list[tuple[str, dict[str, Any], str]] = [
            ("sessions/agent:main:main/messages", {"text": "hello"}, "no model configured"),
            (
                "sessions/agent:main:main/messages",
                {"text": "x", "model": "nobody/knows"},
                "no model provider",
            ),
            (f"experts/{SALES}/runs", {"task": "Look."}, "no model configured"),
            (f"experts/{SALES}/runs", {"task": "Look.", "model": "rehearsal/walkthrough"}, "marked demo"),
        ]
        for path, body, words in asked:
            headers = {"Authorization": f"Bearer {token}"}
            answer = httpx2.post(f"{url}/api/{path}", json=body, headers=headers, timeout=120)
            assert answer.status_code == 409, answer.text
            assert words in answer.json()["error"]["message"]
        assert "no model configured" in colleague("agent", "hello").err
        (colleague.expert() / "bindings.yaml").write_text("tools: [crm\n")
        body = {"task": "Look.", "model": "local/m1"}
        answer = httpx2.post(f"{url}/api/experts/{SALES}/runs", json=body, headers=headers, timeout=120)
        assert answer.status_code == 409, answer.text
        assert "bindings.yaml:" in answer.json()["error"]["message"]
    assert stored(colleague.home) == [0, 0]
