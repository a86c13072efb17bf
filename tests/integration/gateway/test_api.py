"""The API over a real server: what can be looked up, and what can be done."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from colleague.store.ids import new_id
from tests.integration.experts.package import CLERK, Package, ledger_package, process
from tests.integration.gateway.harness import BEARER, House, Running
from tests.office import step

LEDGER = Path(__file__).parents[1] / "experts" / "ledger.py"


def hire_bookkeeper(house: House) -> None:
    """Somebody who wants to write a line and needs a yes for it."""
    book = house.root / "book.txt"
    server = {"command": sys.executable, "args": ["-S", "-E", str(LEDGER), str(book)]}
    house.configure(mcp={"servers": {"ledger": server}})
    given = ledger_package(tiers={"append": "confirm"}, work={"steps": ()})
    given.name = "bookkeeper"
    house.install(given, {"tools": {"ledger": "ledger"}, "model": "script/book.yaml"})
    replies = [{"calls": [{"operation": "ledger.append", "arguments": {"line": "one"}}]}, {"text": "written"}]
    (house.root / "book.yaml").write_text(json.dumps({"replies": replies}))


@pytest.fixture
def asking(house: House) -> Iterator[Running]:
    hire_bookkeeper(house)
    with house.open() as running:
        yield running


def ask(gateway: Running) -> dict[str, Any]:
    """Starts the bookkeeper; the question that comes of it."""
    told = gateway.post("/api/experts/bookkeeper/runs", {"process": "work"})
    assert told.status_code == 202, told.text
    run_id = told.json()["run_id"]
    pending = gateway.until(lambda: [a for a in approvals(gateway) if a["run_id"] == run_id])
    found: dict[str, Any] = pending[0]
    return found


def approvals(gateway: Running, status: str = "pending") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = gateway.get(f"/api/approvals?status={status}").json()
    return found


class TestSkills:
    def test_they_are_listed_and_shown(self, house: House) -> None:
        for name, head in (
            ("good", "description: Does good"),
            ("bad", 'metadata: {"openclaw": {"requires": ['),
        ):
            (house.root / "skills" / name).mkdir(parents=True)
            (house.root / "skills" / name / "SKILL.md").write_text(f"---\nname: {name}\n{head}\n---\n")
        with house.open() as running:
            found = {each["name"]: each["status"] for each in running.get("/api/skills").json()}
            assert found == {"good": "ready", "bad": "broken", "write-a-skill": "ready"}
            assert running.get("/api/skills/good").json()["description"] == "Does good"
            assert running.get("/api/skills/none").status_code == 404
            assert running.get("/api/skills?agent=nobody").status_code == 404


class TestRuns:
    def test_a_task_in_words(self, gateway: Running) -> None:
        told = gateway.post(f"/api/experts/{CLERK}/runs", {"task": "count the lines"}).json()
        run = gateway.ended(told["run_id"])
        assert (run["outcome"], run["inputs"]) == ("completed", {"task": "count the lines"})

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({}, 400),
            ({"task": "a", "process": "work"}, 400),
            ({"task": "a", "inputs": {"id": "1"}}, 400),
            ({"process": "nothing"}, 404),
            ({"process": "work", "inputs": {"id": 7}}, 400),
            ({"task": "a", "other": 1}, 422),
            ({"task": "a", "inputs": []}, 422),
            ([], 422),
        ],
    )
    def test_what_makes_no_sense(self, gateway: Running, body: Any, code: int) -> None:
        answer = gateway.post(f"/api/experts/{CLERK}/runs", body)
        assert answer.status_code == code, answer.text
        assert {"code", "message"} <= set(answer.json()["error"]) <= {"code", "message", "hint"}

    def test_an_unknown_expert(self, gateway: Running) -> None:
        assert gateway.post("/api/experts/nobody/runs", {"task": "a"}).status_code == 404
        assert gateway.get("/api/experts/nobody").status_code == 404

    def test_lists_are_filtered_and_paged(self, gateway: Running) -> None:
        ids = [gateway.hook(f"{CLERK}/order", {"id": str(n)}).json()["run_id"] for n in range(5)]
        for run_id in ids:
            gateway.ended(run_id)
        first = gateway.get("/api/runs?limit=2").json()
        assert [run["id"] for run in first] == ids[:-3:-1]
        rest = gateway.get(f"/api/runs?before={first[-1]['id']}").json()
        assert [run["id"] for run in rest] == ids[2::-1]
        assert gateway.get("/api/runs?status=queued").json() == []
        assert len(gateway.get(f"/api/runs?status=done&expert={CLERK}").json()) == 5
        assert gateway.get("/api/runs?expert=nobody").json() == []
        assert gateway.get("/api/runs?status=asleep").status_code == 422
        assert gateway.get("/api/runs?limit=0").status_code == 422

    def test_ids_are_any_unique_ending(self, gateway: Running) -> None:
        run_id = gateway.hook(f"{CLERK}/order", {"id": "x"}).json()["run_id"]
        assert gateway.get(f"/api/runs/{run_id[-8:]}").json()["id"] == run_id
        assert gateway.get(f"/api/runs/{run_id[-3:]}").status_code == 400
        assert gateway.get(f"/api/runs/{new_id()}").status_code == 404
        assert gateway.get("/api/runs/%25%25%25%25").status_code == 404
        assert gateway.get("/api/runs/aaaa%00").status_code == 404

    def test_cancel(self, house: House) -> None:
        house.play({"text": "slowly", "delay": 60})
        with house.open() as gateway:
            run_id = gateway.post(f"/api/experts/{CLERK}/runs", {"task": "wait"}).json()["run_id"]
            told = gateway.post(f"/api/runs/{run_id[-8:]}/cancel", {"note": "enough"}).json()
            assert told == {"run_id": run_id, "cancelled": True}
            run = gateway.ended(run_id)
            assert (run["outcome"], run["error"]) == ("cancelled", "enough")
            assert gateway.post(f"/api/runs/{run_id}/cancel").json()["cancelled"] is False

    def test_retry_with_other_inputs(self, house: House) -> None:
        house.play({"error": {"reason": "auth"}})
        with house.open() as gateway:
            run_id = gateway.hook(f"{CLERK}/order", {"id": "r-1"}).json()["run_id"]
            assert gateway.ended(run_id)["outcome"] == "failed"
            house.play({"text": "now"})
            assert gateway.post(f"/api/runs/{run_id}/retry", {"inputs": {"id": 5}}).status_code == 400
            told = gateway.post(f"/api/runs/{run_id}/retry", {"inputs": {"id": "r-2"}})
            assert told.status_code == 202
            run = gateway.until(lambda: (found := gateway.ended(run_id))["outcome"] == "completed" and found)
            assert (run["inputs"], len(run["attempts"])) == ({"id": "r-2"}, 2)
            assert gateway.post(f"/api/runs/{run_id}/retry").status_code == 409

    def test_fork(self, house: House) -> None:
        work = process(steps=("Look.", "Write."))
        writer = Package(files={"processes/work.md": work}, name="writer")
        house.install(writer, {"model": "script/writer.yaml"})
        replies = [step(1, note="seen"), step(2), {"text": "It is written."}]
        (house.root / "writer.yaml").write_text(json.dumps({"replies": replies}))
        with house.open() as gateway:
            run_id = gateway.post("/api/experts/writer/runs", {"process": "work"}).json()["run_id"]
            gateway.ended(run_id)
            told = gateway.post(f"/api/runs/{run_id[-8:]}/fork", {"from_step": 2, "dry_run": True})
            assert (told.status_code, told.json()["duplicate"]) == (202, False), told.text
            fork = gateway.ended(told.json()["run_id"])
            assert (fork["outcome"], fork["dry_run"], fork["turns"]) == ("completed", True, 2)
            assert fork["forked_from"] == {"id": run_id, "step": 2}
            event = gateway.get(f"/api/events/{told.json()['event_id']}").json()
            assert event["source"].startswith(f"fork of run {run_id[-8:]} from step 2, by ")
            [newest, first] = gateway.get("/api/runs?expert=writer").json()
            assert (newest["forked_from"], first["forked_from"]) == ({"id": run_id, "step": 2}, None)
            for body, status in (({}, 422), ({"from_step": "two"}, 422), ({"from_step": 2, "more": 1}, 422)):
                assert gateway.post(f"/api/runs/{run_id}/fork", body).status_code == status
            assert gateway.post(f"/api/runs/{run_id}/fork", {"from_step": 3}).status_code == 400
            assert gateway.post(f"/api/runs/{new_id()}/fork", {"from_step": 1}).status_code == 404
            task = gateway.post("/api/experts/writer/runs", {"task": "write"}).json()["run_id"]
            refused = gateway.post(f"/api/runs/{task}/fork", {"from_step": 1})
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "cannot-fork")
            assert gateway.client.post(f"/api/runs/{run_id}/fork", json={"from_step": 1}).status_code == 401


class TestEvents:
    def stream(self, gateway: Running, run_id: str) -> list[tuple[str, dict[str, Any]]]:
        """All events of a run until its stream ends."""
        found, kind = [], ""
        with gateway.client.stream("GET", f"/api/runs/{run_id}/events", headers=BEARER) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                kind = line[7:] if line.startswith("event: ") else kind
                if line.startswith("data: "):
                    found.append((kind, json.loads(line[6:])))
        return found

    def test_a_run_from_beginning_to_end(self, house: House) -> None:
        house.play({"text": "word by word", "delay": 0.5})
        with house.open() as gateway:
            run_id = gateway.hook(f"{CLERK}/order", {"id": "s"}).json()["run_id"]
            events = self.stream(gateway, run_id)
            kinds = [kind for kind, _ in events]
            assert kinds[0] == "run_status"
            assert "message_update" in kinds
            assert kinds[-1] == "run_status"
            assert events[-1][1]["outcome"] == "completed"
            assert all(data["run_id"] == run_id for _, data in events)

    def test_one_that_has_ended(self, gateway: Running) -> None:
        run_id = gateway.hook(f"{CLERK}/order", {"id": "s"}).json()["run_id"]
        gateway.ended(run_id)
        [(kind, data)] = self.stream(gateway, run_id)
        assert (kind, data["status"], data["outcome"]) == ("run_status", "done", "completed")

    def test_a_decision_is_told(self, asking: Running) -> None:
        asked = ask(asking)
        found: list[tuple[str, dict[str, Any]]] = []
        watching = threading.Thread(target=lambda: found.extend(self.stream(asking, asked["run_id"])))
        watching.start()
        asking.post(f"/api/approvals/{asked['id']}", {"decision": "approve", "digest": asked["digest"]})
        watching.join(120)
        kinds = [kind for kind, _ in found]
        assert kinds[-1] == "run_status"
        assert found[-1][1]["outcome"] == "completed"

    def test_a_cancelled_run_ends_its_stream(self, house: House) -> None:
        house.play({"text": "slowly", "delay": 60})
        with house.open() as gateway:
            run_id = gateway.hook(f"{CLERK}/order", {"id": "s"}).json()["run_id"]
            found: list[tuple[str, dict[str, Any]]] = []
            watching = threading.Thread(target=lambda: found.extend(self.stream(gateway, run_id)))
            watching.start()
            gateway.post(f"/api/runs/{run_id}/cancel")
            watching.join(120)
            assert found[-1][1]["outcome"] == "cancelled"

    def test_a_stream_ends_when_the_gateway_stops(self, house: House) -> None:
        house.play({"text": "slowly", "delay": 60})
        with house.open() as gateway:
            run_id = gateway.hook(f"{CLERK}/order", {"id": "s"}).json()["run_id"]
            with gateway.client.stream("GET", f"/api/runs/{run_id}/events", headers=BEARER) as answer:
                lines = answer.iter_lines()
                assert next(lines) == "event: run_status"
                gateway.stop()
                assert '"outcome": "completed"' not in "".join(lines)


class TestApprovals:
    def test_approve(self, asking: Running) -> None:
        asked = ask(asking)
        assert (asked["operation"], asked["arguments"]) == ("ledger.append", {"line": "one"})
        told = asking.post(
            f"/api/approvals/{asked['id'][-8:]}",
            {"decision": "approve", "digest": asked["digest"], "note": "fine", "by": "ann"},
        )
        assert (told.status_code, told.json()["decided_by"], told.json()["note"]) == (200, "ann", "fine")
        assert asking.ended(asked["run_id"])["outcome"] == "completed"
        assert (asking.home.root / "book.txt").read_text() == "one\n"

    def test_the_second_decision_is_told_of_the_first(self, asking: Running) -> None:
        asked = ask(asking)
        body = {"decision": "reject", "digest": asked["digest"], "by": "ann"}
        assert asking.post(f"/api/approvals/{asked['id']}", body).status_code == 200
        second = asking.post(f"/api/approvals/{asked['id']}", body | {"decision": "approve", "by": "bob"})
        error = second.json()["error"]
        assert (second.status_code, error["code"], error["decided_by"]) == (409, "already-decided", "ann")
        assert error["decided_at"].startswith("20")

    def test_with_other_arguments(self, asking: Running) -> None:
        asked = ask(asking)
        body = {"decision": "approve", "digest": asked["digest"], "arguments": {"line": "two"}}
        assert asking.post(f"/api/approvals/{asked['id']}", body).status_code == 200
        asking.ended(asked["run_id"])
        assert (asking.home.root / "book.txt").read_text() == "two\n"

    def test_with_a_grant_for_a_while(self, asking: Running) -> None:
        asked = ask(asking)
        body = {"decision": "approve", "digest": asked["digest"], "grant_ms": 60_000}
        assert asking.post(f"/api/approvals/{asked['id']}", body).status_code == 200
        asking.ended(asked["run_id"])
        again = asking.post("/api/experts/bookkeeper/runs", {"process": "work"}).json()
        assert asking.ended(again["run_id"])["outcome"] == "completed"
        [grant] = asking.get("/api/grants").json()
        assert (grant["operation"], grant["created_by"]) == ("ledger.append", "api")
        gone = asking.client.delete(f"/api/grants/{grant['id'][-8:]}", headers=BEARER)
        assert gone.json() == {"id": grant["id"]}
        assert ask(asking)["status"] == "pending"

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"digest": "another"}, 409),
            ({"digest": None}, 422),
            ({"decision": "done"}, 400),
            ({"decision": "perhaps"}, 422),
            ({"decision": "reject", "arguments": {"line": "x"}}, 400),
            ({"result": {"line": "x"}}, 400),
            ({"decision": "respond", "result": " "}, 400),
            ({"decision": "respond"}, 400),
            ({"arguments": {"line": 7}}, 422),
        ],
    )
    def test_what_does_not_count(self, asking: Running, change: dict[str, Any], code: int) -> None:
        asked = ask(asking)
        body = {"decision": "approve", "digest": asked["digest"]} | change
        given = {key: value for key, value in body.items() if value is not None}
        assert asking.post(f"/api/approvals/{asked['id']}", given).status_code == code
        assert [each["id"] for each in approvals(asking)] == [asked["id"]]

    def test_each_of_several_is_answered_by_itself(self, asking: Running) -> None:
        one, two = ask(asking), None
        two = {"id": "ffffffff", "digest": "x"}
        body = {
            "decisions": [
                {"id": two["id"], "digest": two["digest"], "decision": "approve"},
                {"id": one["id"], "digest": "wrong", "decision": "approve"},
                {"id": one["id"], "digest": one["digest"], "decision": "approve"},
                {"id": one["id"], "digest": one["digest"], "decision": "reject"},
            ]
        }
        told = asking.post("/api/approvals", body).json()["decisions"]
        assert [each["ok"] for each in told] == [False, False, True, False]
        codes = [each["error"]["code"] for each in told if not each["ok"]]
        assert codes == ["not-found", "wrong-digest", "already-decided"]
        assert [each["status"] for each in approvals(asking, "all")] == ["decided"]


class TestTheRest:
    def test_experts(self, gateway: Running) -> None:
        [brief] = gateway.get("/api/experts").json()
        assert (brief["name"], brief["enabled"]) == (CLERK, True)
        found = gateway.get(f"/api/experts/{CLERK}").json()
        assert [each["name"] for each in found["processes"]] == ["work"]

    def test_triggers(self, gateway: Running) -> None:
        found = {each["trigger"]: each for each in gateway.get("/api/triggers").json()}
        assert found["order"]["address"] == f"/hooks/{CLERK}/order"
        assert found["nightly"]["next_at"].endswith("T03:00:00+00:00")
        told = gateway.post(f"/api/triggers/{CLERK}/nightly/fire", {"payload": {"id": "by hand"}})
        assert told.status_code == 202
        assert gateway.ended(told.json()["run_id"])["inputs"] == {"id": "by hand"}
        assert gateway.post(f"/api/triggers/{CLERK}/nothing/fire").status_code == 404

    def test_channel_messages(self, gateway: Running) -> None:
        message = {"sender_id": "u1", "message_text": "I need HELP", "message_id": "c-1"}
        told = gateway.post("/api/channels/sales-eu/messages", message)
        [event] = told.json()["events"]
        assert (told.status_code, event["trigger"]) == (202, "told")
        [again] = gateway.post("/api/channels/sales-eu/messages", message).json()["events"]
        assert (again["event_id"], again["duplicate"]) == (event["event_id"], True)
        unread = gateway.post("/api/channels/general/messages", message)
        assert unread.status_code == 409, "no model can read it"
        assert gateway.post("/api/channels/sales/messages", {"message_text": "help"}).status_code == 400

    def test_a_channel_message_that_wakes_no_trigger_is_said_to_the_main_agent(self, house: House) -> None:
        house.configure(
            agents={"defaults": {"model": "script/play.yaml"}}, session={"dmScope": "per-channel-peer"}
        )
        message = {"sender_id": "u1", "message_text": "hello", "message_id": "c-1"}
        with house.open() as gateway:
            [event] = gateway.post("/api/channels/general/messages", message).json()["events"]
            assert (event["session_key"], event["queued"]) == ("agent:main:general:dm:u1", "started")
            assert gateway.ended(event["run_id"])["outcome"] == "completed"
            [again] = gateway.post("/api/channels/general/messages", message).json()["events"]
            assert (again["event_id"], again["duplicate"]) == (event["event_id"], True)
            wrong = message | {"chat_type": "party"}
            assert gateway.post("/api/channels/general/messages", wrong).status_code == 400

    def test_dead_letters(self, house: House) -> None:
        given = ledger_package(work={"execution": {"on_failure": "dead_letter"}})
        given.name = "mortal"
        house.configure(mcp={"servers": {"off": {"command": "ledger", "enabled": False}}})
        house.install(given, {"tools": {"ledger": "off"}, "model": "script/play.yaml"})
        with house.open() as gateway:
            ids = [
                gateway.post("/api/experts/mortal/runs", {"process": "work"}).json()["run_id"]
                for _ in range(2)
            ]
            for run_id in ids:
                assert gateway.ended(run_id)["outcome"] == "dead_letter"
            assert {each["id"] for each in gateway.get("/api/deadletters").json()} == set(ids)
            assert gateway.post(f"/api/deadletters/{ids[0][-8:]}/drop").json() == {"run_id": ids[0]}
            assert gateway.post(f"/api/deadletters/{ids[0]}/drop").status_code == 409
            assert gateway.post(f"/api/deadletters/{ids[1]}/retry").status_code == 202

    def test_grants(self, gateway: Running) -> None:
        assert gateway.get("/api/grants").json() == []
        assert gateway.client.delete("/api/grants/ffffffff", headers=BEARER).status_code == 404

    def test_the_main_session(self, house: House) -> None:
        house.configure(agents={"defaults": {"model": {"primary": "script/play.yaml"}}})
        with house.open() as gateway:
            key = "agent:main:main"
            told = gateway.post(f"/api/sessions/{key}/messages", {"text": "hello"})
            assert told.status_code == 202
            gateway.ended(told.json()["run_id"])
            said = gateway.get(f"/api/sessions/{key}/messages").json()
            assert [each["role"] for each in said] == ["user", "assistant"]
            assert (said[0]["text"], said[1]["text"]) == ("hello", "It is done.")
            assert gateway.get("/api/sessions").json()[0]["key"] == key
            assert gateway.post("/api/sessions/other/messages", {"text": "hello"}).status_code == 404
            assert gateway.post(f"/api/sessions/{key}/messages", {"text": ""}).status_code == 422

    def test_status(self, gateway: Running) -> None:
        found = gateway.get("/api/status").json()
        assert found["gateway"]["port"] == gateway.port
        assert [each["trigger"] for each in found["next_schedules"]] == ["nightly"]
        assert found["problems"] == []

    def test_ready(self, gateway: Running) -> None:
        found = gateway.client.get("/readyz")
        assert (found.status_code, found.json()["ready"]) == (200, True)
        assert set(found.json()["checks"]) == {"database", "loop", "worker", "work", "tasks", "descriptors"}

    def test_metrics(self, gateway: Running) -> None:
        told = gateway.hook(f"{CLERK}/order", {"id": "m"}).json()
        gateway.hook(f"{CLERK}/order", {"id": "m"})
        gateway.hook(f"{CLERK}/nothing-{new_id()}", {})
        gateway.ended(told["run_id"])
        answer = gateway.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=")
        assert "nothing-" not in answer.text
        families = text_string_to_metric_families(answer.text)
        found = {
            (each.name, *sorted(each.labels.values())): each.value for fam in families for each in fam.samples
        }
        assert found["colleague_events_total", "", "accepted"] == 1
        assert found["colleague_events_total", "", "duplicate"] == 1
        assert found["colleague_events_total", "refused", "unknown"] == 1
        assert found["colleague_runs_ended", "completed"] == 1
        assert found["colleague_tasks_failing",] == 0
        assert found["colleague_http_requests_total", "/hooks/{expert}/{trigger}", "202", "POST"] == 1
        assert found["process_resident_memory_bytes",] > 0

    def test_other_addresses_and_verbs(self, gateway: Running) -> None:
        assert gateway.get("/nothing").json()["error"]["code"] == "not-found"
        refused = gateway.client.put("/api/approvals", headers=BEARER)
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS, POST")
        assert refused.json()["error"]["code"] == "method-not-allowed"
        head = gateway.client.head("/api/runs", headers=BEARER)
        assert (head.status_code, head.content) == (200, b"")
        options = gateway.client.options("/api/runs", headers=BEARER)
        assert (options.status_code, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")
        assert gateway.client.get("/openapi.json").json()["info"]["title"] == "Colleague"
