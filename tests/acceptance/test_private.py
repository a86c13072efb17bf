"""Private knowledge stays in the runtime, also after the agent has read it and repeats it everywhere."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import json5
import pytest

from colleague.clock import SystemClock
from colleague.config import load_settings
from colleague.experts.expert import find_expert
from colleague.experts.runs.inputs import find_process
from colleague.experts.runs.invoke import Invocation
from colleague.home import Home
from colleague.run_event import RunEvent
from colleague.runtime.host import open_host
from colleague.store.accept import accept
from colleague.store.outbox import put_in_outbox
from colleague.store.sqlite import SqliteDatabase
from tests.acceptance.confidant import (
    ASSESS,
    CANARY,
    CHILD,
    CLASSIFIED,
    CODE,
    COMPLETE,
    ESCALATION,
    FILES,
    LESSON,
    PRIVATE_FILE,
    READ,
    SECRET,
    TO_SERVERS,
    Confidant,
    confide,
    package_with_secrets,
)
from tests.integration.gateway.harness import House
from tests.office import DESK, call, calls, step


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Confidant]:
    """Everything happens once; the tests look at what is left."""
    with pytest.MonkeyPatch.context() as patch:
        desk = confide(tmp_path_factory.mktemp("private"), patch)
        work(desk)
        look(desk)
        yield desk


def work(desk: Confidant) -> None:
    noted = [step(1, note=SECRET), step(2, "skipped", SECRET)]
    everything = [*READ, ASSESS, *FILES, *TO_SERVERS, result("high"), *noted]
    assert desk.run("whole", *everything, COMPLETE) == 0
    assert desk.run("json", *everything, COMPLETE, more=("--json",)) == 0
    asks = call("escalate", SECRET, **ESCALATION)
    assert desk.run("dry", *everything, asks, COMPLETE, more=("--dry-run",)) == 0
    said = {"text": SECRET, "thinking": SECRET}
    begin = call(
        "begin_process", SECRET, process="handle-ticket", inputs={"ticket_id": CODE, "limit": SECRET}
    )
    learnings = [
        call("propose_learning", SECRET, **(LESSON | {name: SECRET})) for name in ("title", "correction")
    ]
    marks = calls(*(("mark_step", {"step": number, "status": "done"}) for number in range(1, 10)))
    assert desk.run("task", *READ, begin, *learnings, marks, said, task=("What are the limits?",)) == 0
    assert desk.run("begun", begin, step(1, "failed", SECRET), task=("Begin.",)) == 1
    assert desk.run("asks", *READ, asks, said, task=("Who decides?",)) == 4
    glance(desk)
    assert desk.run("fails", *READ, step(3, "failed", SECRET), call("begin", SECRET), COMPLETE) == 1
    [dead] = [each for each in desk.data("deadletter", "list") if "step 3" in each["error"]]
    assert desk.type("respond", question(desk), "Go on.")[0] == 0
    assert desk.run("rejected", *READ, result("low"), COMPLETE) == 4
    assert desk.type("reject", question(desk))[0] == 1
    glance(desk)
    package_with_secrets(desk.home.parent, "Another limit holds from today on.", version="0.1.1")
    assert desk.type("expert", "update", DESK)[0] == 0
    assert desk.type("deadletter", "retry", dead["id"])[0] == 0


def result(confidence: str) -> dict[str, Any]:
    outputs = CLASSIFIED | {"confidence": confidence}
    return call("function_result", SECRET, function="classify-ticket", outputs=outputs)


def question(desk: Confidant) -> str:
    [asked] = [each for each in desk.data("approval", "list") if each["kind"] == "low_confidence"]
    return str(asked["id"])


def glance(desk: Confidant) -> None:
    """What a person looks at while something waits."""
    run = desk.data("run", "list")[0]["id"]
    shown = [("status",), ("run", "show", run), ("deadletter", "list"), ("approval", "list")]
    shown += [("approval", "show", each["id"]) for each in desk.data("approval", "list")]
    for command in shown:
        desk.type(*command)
        desk.type(*command, "--json")
    desk.type("run", "watch", run)


def look(desk: Confidant) -> None:
    """Every command that shows something, in both forms."""
    lists = "expert run approval deadletter learning session grant mcp event trigger"
    both = [(each, "list") for each in lists.split()]
    both += [("approval", "list", "--all"), ("learning", "list", "--all"), ("status",)]
    both += [("expert", "show", DESK), ("expert", "validate", DESK, "--offline"), ("state", "history", DESK)]
    both += [("approval", "show", each["id"]) for each in desk.data("approval", "list", "--all")]
    both += [("state", "history", DESK, each["path"]) for each in desk.data("state", "history", DESK)]
    for each in ("run", "deadletter", "event"):
        both += [(each, "show", found["id"]) for found in desk.data(each, "list")]
    for command in both:
        desk.type(*command)
        desk.type(*command, "--json")
    plain = [("run", "watch", each["id"]) for each in desk.data("run", "list")]
    runs = [desk.data("run", "show", each["id"]) for each in desk.data("run", "list")]
    for number, key in enumerate(dict.fromkeys(each["session_key"] for each in runs)):
        export = ("session", "export-trajectory", "--session", key)
        plain += [export, (*export, "--output", str(desk.exports / f"{number}.jsonl"))]
    for command in [*plain, ("expert", "prompt", DESK)]:
        desk.type(*command)


def test_nothing_is_printed(desk: Confidant) -> None:
    assert len(desk.heard) > 100
    assert [(command, text) for command, text in desk.heard if CANARY.search(text)] == []


def test_what_is_printed_shows_that_something_is_left_out(desk: Confidant) -> None:
    shown = "".join(text for command, text in desk.heard if command.startswith("run show"))
    assert shown.count("[private]") > 50


def test_the_model_did_read_and_repeat_it(desk: Confidant) -> None:
    results = desk.rows("SELECT result FROM calls WHERE operation = 'read'")
    assert any(CANARY.search(result) for [result] in results)
    assert any(CANARY.search(body) for [body] in desk.rows("SELECT body FROM messages"))
    assert CANARY.search((desk.office.workspace(DESK) / "state" / "desk-log.md").read_text())


def test_no_log_has_it(desk: Confidant) -> None:
    logs = {file.name: file.read_text() for file in (desk.home / "logs").rglob("*") if file.is_file()}
    traces = {"script-payload.jsonl", "raw-stream.jsonl", "cache-trace.jsonl"}
    trajectories = {file.name for file in (desk.home / "logs" / "trajectory").iterdir()}
    assert {"colleague.jsonl", "mcp-office.log"} | traces <= set(logs)
    assert any(name.startswith(f"expert_{DESK}") for name in trajectories)
    assert [name for name, text in logs.items() if CANARY.search(text)] == []
    assert all("[private]" in logs[name] for name in traces)
    assert any("[private]" in logs[name] for name in trajectories)


def test_no_exported_trajectory_has_it(desk: Confidant) -> None:
    texts = [file.read_text() for file in desk.exports.iterdir()]
    assert len(texts) > 5
    assert not any(map(CANARY.search, texts))


def test_no_index_has_it(desk: Confidant) -> None:
    assert not CANARY.search((desk.home / "workspace" / "EXPERTS.md").read_text())
    assert not CANARY.search((desk.home / "state" / "experts.json").read_text())


@pytest.mark.parametrize("table", ["outbox", "attempts"])
def test_nothing_that_is_told_has_it(desk: Confidant, table: str) -> None:
    rows = desk.rows(f"SELECT * FROM {table}")  # noqa: S608
    assert rows
    assert [row for row in rows if CANARY.search(json.dumps(row))] == []


def test_no_result_of_a_run_has_it(desk: Confidant) -> None:
    rows = desk.rows("SELECT narrative, outputs, error FROM runs")
    assert [row for row in rows if CANARY.search(json.dumps(row))] == []
    assert {bool(row[1]) for row in rows} == {True, False}


def test_every_notice_and_delivery_was_made(desk: Confidant) -> None:
    kinds = {kind for [kind] in desk.rows("SELECT kind FROM outbox")}
    assert kinds == {"delivery", "escalation", "approval"}


def test_no_server_was_told(desk: Confidant) -> None:
    tables = [name for [name] in desk.office.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    said = json.dumps([desk.office.rows(f"SELECT * FROM {table}") for table in tables])  # noqa: S608
    assert not CANARY.search(said)
    assert desk.office.effects == []
    sent = desk.rows("SELECT operation FROM calls WHERE operation LIKE 'tickets.%' AND status <> 'refused'")
    assert sent == []


def test_no_learning_repeats_it(desk: Confidant) -> None:
    learned = [
        file.read_text() for file in desk.office.workspace(DESK).glob("learnings/**/*") if file.is_file()
    ]
    assert not any(map(CANARY.search, learned))
    assert desk.rows("SELECT * FROM approvals WHERE kind = 'learning'") == []
    proposed = desk.rows("SELECT DISTINCT status FROM calls WHERE operation = 'propose_learning'")
    assert proposed == [("refused",)]


def test_no_file_has_a_name_that_tells(desk: Confidant) -> None:
    names = [str(path.relative_to(desk.home)) for path in desk.home.rglob("*")]
    assert [name for name in names if CANARY.search(name)] == []


async def watched(desk: Confidant, model: str) -> list[RunEvent]:
    home, events = Home(desk.home), list[RunEvent]()
    async with open_host(home, load_settings(home)) as host:
        host.bus.watch(events.append)
        expert = find_expert(home, DESK)
        asked = Invocation(home, expert, expert.load(), model)
        arrival = asked.process(find_process(asked.package, "handle-ticket"), {"ticket_id": "T-1002"})
        accepted = await host.database.write(lambda tx: accept(tx, arrival))
        await host.advance_only([str(accepted.run_id)])
    return events


def test_nobody_who_watches_hears_it(desk: Confidant) -> None:
    replies = [*READ, ASSESS, *FILES, *TO_SERVERS, step(1, note=SECRET), COMPLETE, *CHILD]
    events = asyncio.run(watched(desk, desk.office.play(*replies, name="play-watched")))
    assert {each.kind for each in events} >= {
        "message_end",
        "tool_execution_start",
        "tool_execution_end",
        "agent_end",
    }
    assert [each for each in events if CANARY.search(json.dumps(each.data))] == []


def test_no_answer_of_the_api_has_it(desk: Confidant) -> None:
    settings = json5.loads(Home(desk.home).settings_file.read_text())
    Home(desk.home).settings_file.write_text(json.dumps(settings | {"gateway": {"auth": {"mode": "none"}}}))
    lists = ["experts", "runs", "deadletters", "sessions", "grants", "triggers", "status"]
    with House(desk.home, environ=dict(os.environ)).open() as gateway:
        found = {path: gateway.client.get(f"/api/{path}") for path in lists}
        more = [f"approvals?status={each}" for each in ("pending", "all")]
        more += [f"runs/{each['id']}{end}" for each in found["runs"].json() for end in ("", "/events")]
        more += [f"sessions/{each['key']}/messages" for each in found["sessions"].json()]
        more += [f"events/{each}" for [each] in desk.rows("SELECT id FROM events")]
        more += [f"approvals/{each}" for [each] in desk.rows("SELECT id FROM approvals")]
        found |= {path: gateway.client.get(f"/api/{path}") for path in [*more, f"experts/{DESK}"]}
    assert {answer.status_code for answer in found.values()} == {200}
    assert [path for path, answer in found.items() if CANARY.search(answer.text)] == []
    assert "[private]" in found[more[2]].text


@pytest.mark.parametrize(
    "text",
    [
        f"---\ntype: private\nname: [\n---\n{SECRET}",
        f"---\ntype: private\n\n{SECRET}",
        f"---\ntype: privat\n---\n{SECRET}",
        f"---\ntype: private\n---\n{SECRET}\n\ufffd\x00",
    ],
)
def test_no_error_quotes_it(desk: Confidant, tmp_path: Path, text: str) -> None:
    package = package_with_secrets(tmp_path)
    (package / PRIVATE_FILE).write_text(text)
    for form in ((), ("--json",)):
        desk.type("expert", "validate", str(package), "--offline", *form)
        assert not CANARY.search(desk.heard[-1][1])


def test_no_error_of_the_database_quotes_it(tmp_path: Path) -> None:
    async def fail() -> None:
        database = SqliteDatabase(tmp_path / "db.sqlite", SystemClock())
        try:
            await database.write(
                lambda tx: put_in_outbox(tx, "run", "kind", "subject", "main", f"{SECRET}\ud800")
            )
        finally:
            await database.close()

    with pytest.raises(Exception, match="surrogates") as caught:
        asyncio.run(fail())
    assert not CANARY.search(str(caught.value))
