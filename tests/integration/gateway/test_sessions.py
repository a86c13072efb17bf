"""Sessions over HTTP: messages that wait for their turn, streams, search, and what is refused."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from colleague.runtime.remote_service import RemoteService
from tests.integration.gateway.harness import BEARER, BINDINGS, House, Running, package

MAIN = "/api/sessions/agent:main:main"
ASKS = {"operation": "write", "arguments": {"path": "AGENTS.md", "text": "Be kind."}}


@pytest.fixture
def house(house: House) -> House:
    house.configure(agents={"defaults": {"model": {"primary": "script/play.yaml"}}})
    house.play({"text": "First."}, {"text": "Second."})
    return house


def told(running: Running, path: str, **headers: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Id, kind and data of server-sent events, until the caller has enough."""
    with running.client.stream("GET", path, headers=BEARER | headers) as answer:
        assert answer.status_code == 200, answer.read()
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                yield fields.get("id", ""), fields["event"], json.loads(fields["data"])
                fields = {}


class TestWaiting:
    def test_the_answer_of_the_turn(self, house: House) -> None:
        with house.open() as gateway:
            answer = gateway.post(f"{MAIN}/messages", {"text": "Hello", "wait": 30})
            assert answer.status_code == 200, answer.text
            found = answer.json()
            assert (found["status"], found["outcome"], found["text"]) == ("done", "completed", "First.")
            assert found["approvals"] == []
            event = gateway.get(f"/api/events/{found['event_id']}").json()
            assert event["run"]["id"] == found["run_id"]

    def test_a_turn_that_takes_longer_and_one_behind_it(self, house: House) -> None:
        house.play({"text": "First.", "delay": 2}, {"text": "Second."})
        with house.open() as gateway:
            first = gateway.post(f"{MAIN}/messages", {"text": "Hello", "wait": 0.05})
            assert (first.status_code, first.json()["queued"]) == (202, "started")
            body = {"text": "And then?", "wait": 60, "queue_mode": "queue"}
            second = gateway.post(f"{MAIN}/messages", body, timeout=240)
            assert (second.status_code, second.json()["text"]) == (200, "Second.")
            assert second.json()["run_id"] != first.json()["run_id"]

    def test_a_parked_question_is_listed(self, house: House) -> None:
        asks = {"calls": [ASKS]}
        house.play(asks, {"text": "I asked."}, asks, {"text": "I asked before."}, {"text": "Written."})
        with house.open() as gateway:
            found = gateway.post(f"{MAIN}/messages", {"text": "Change it", "wait": 30}).json()
            assert (found["status"], found["text"]) == ("done", "I asked.")
            [approval] = found["approvals"]
            assert (approval["operation"], approval["status"]) == ("write", "pending")
            again = gateway.post(f"{MAIN}/messages", {"text": "Change it", "wait": 30}).json()
            assert (again["text"], again["approvals"]) == ("I asked before.", [approval])
            assert gateway.get(MAIN).json()["parked"] == 1
            decision = {"decision": "approve", "digest": approval["digest"]}
            assert gateway.post(f"/api/approvals/{approval['id']}", decision).status_code == 200
            said = gateway.until(lambda: self.answered(gateway))
            assert said[-1]["text"] == "Written."
            assert gateway.get(MAIN).json()["parked"] == 0

    def answered(self, gateway: Running) -> list[dict[str, Any]] | None:
        said: list[dict[str, Any]] = gateway.get(f"{MAIN}/messages").json()
        return said if said[-1]["text"] == "Written." else None

    def test_a_turn_that_fails(self, house: House) -> None:
        house.play({"text": "First."})
        with house.open() as gateway:
            gateway.post(f"{MAIN}/messages", {"text": "Hello", "wait": 30})
            found = gateway.post(f"{MAIN}/messages", {"text": "Hello", "wait": 30}).json()
            assert (found["status"], found["outcome"]) == ("done", "failed")
            assert "no reply number 2" in found["error"]

    def test_one_that_is_denied_says_so_at_once(self, house: House) -> None:
        with house.open() as gateway:
            gateway.client.patch(MAIN, json={"send_policy": "deny"}, headers=BEARER)
            answer = gateway.post(f"{MAIN}/messages", {"text": "Hello", "wait": 30})
            assert (answer.status_code, answer.json()["queued"]) == (202, "denied")
            assert answer.json()["reason"] == "the send policy denies it: the session itself"

    def test_the_same_message_twice(self, house: House) -> None:
        with house.open() as gateway:
            body = {"text": "Hello", "wait": 30, "dedupe_key": "one"}
            first, second = (gateway.post(f"{MAIN}/messages", body).json() for _ in range(2))
            assert (first["event_id"], first["text"]) == (second["event_id"], "First.")
            assert second["text"] == "First."


class TestStream:
    def test_what_happens_from_now_on_and_again_after_a_cut(self, house: House) -> None:
        with house.open() as gateway:
            events = told(gateway, f"{MAIN}/events")
            assert next(events)[1:] == ("session_status", self.status(gateway))
            other = threading.Thread(target=self.say, args=(gateway, "Hello"))
            other.start()
            seen = list(self.until_idle(events))
            other.join()
            assert [(number, data["text"]) for number, kind, data in seen if kind == "message"] == [
                ("1", "Hello"),
                ("2", "First."),
            ]
            kinds = [kind for _, kind, _ in seen]
            assert {"message_end", "agent_end", "run_status"} <= set(kinds)
            for again in (
                {"path": f"{MAIN}/events?after=1"},
                {"path": f"{MAIN}/events", "Last-Event-ID": "1"},
            ):
                number, kind, data = next(told(gateway, **again))
                assert (number, kind, data["text"]) == ("2", "message", "First.")

    def say(self, gateway: Running, text: str) -> None:
        with httpx2.Client(base_url=gateway.url, headers=BEARER, timeout=240) as client:
            client.post(f"{MAIN}/messages", json={"text": text})

    def status(self, gateway: Running) -> dict[str, Any]:
        document = gateway.get(MAIN).json()
        names = (
            "key",
            "session_id",
            "label",
            "status",
            "run_id",
            "parked",
            "child_questions",
            "waiting",
            "positions",
        )
        return {"type": "session_status"} | {name: document[name] for name in names}

    def until_idle(
        self, events: Iterator[tuple[str, str, dict[str, Any]]]
    ) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for event in events:
            yield event
            if event[1] == "session_status" and event[2]["status"] == "idle":
                return

    def test_a_gateway_that_stops_ends_it(self, house: House) -> None:
        with house.open() as gateway:
            events = told(gateway, f"{MAIN}/events")
            next(events)
            gateway.stop()
            assert list(events) == []


def test_a_watcher_misses_nothing_while_the_gateway_is_started_again(house: House) -> None:
    found: list[str] = []
    began, ended = threading.Event(), threading.Event()

    async def watch() -> None:
        events = RemoteService(house.home, house.environ).watch_session("agent:main:main")
        async with contextlib.aclosing(events):
            async for event in events:
                began.set()
                if event.kind in ("gateway_lost", "gateway_back", "message"):
                    found.append(event.data.get("text") or event.kind)
                if "Missed?" in found:
                    ended.set()
                    return

    with house.open():
        watcher = threading.Thread(target=lambda: asyncio.run(watch()), daemon=True)
        watcher.start()
        assert began.wait(120)
    with house.open() as gateway:
        gateway.post(f"{MAIN}/messages", {"text": "Missed?"})
        assert ended.wait(120)
    watcher.join(120)
    assert found == ["gateway_lost", "gateway_back", "Missed?"]


class TestSearch:
    def test_what_was_said_archives_too(self, house: House) -> None:
        with house.open() as gateway:
            gateway.post(f"{MAIN}/messages", {"text": "The Penguin project", "wait": 30})
            gateway.post(f"{MAIN}/reset", {})
            [hit] = gateway.get("/api/search?q=pengu").json()
            [archive] = gateway.get(f"{MAIN}/archive").json()
            assert hit.pop("at")
            assert hit == {
                "session_key": "agent:main:main",
                "label": None,
                "position": 1,
                "archive": archive["id"],
                "role": "user",
                "excerpt": "The Penguin project",
            }
            found = gateway.get(f"{MAIN}/messages?archive={archive['id']}&limit=1").json()
            assert [each["text"] for each in found] == ["The Penguin project"]
            assert gateway.get("/api/search?q=pengu&session=agent:main:telegram:dm:5").status_code == 404


class TestRefusals:
    @pytest.mark.parametrize(
        ("key", "body", "status", "message"),
        [
            ("nobody", {"text": "Hello"}, 404, "there is no session with the label 'nobody'"),
            ("agent:ghost:main", {"text": "Hello"}, 404, "there is no agent 'ghost'"),
            ("agent:main:main", {"text": "a" * 100_001}, 413, "the message has 100001 characters"),
            ("agent:main:main", {"text": "a" * (2 << 20)}, 413, "the body is larger than 1048576 bytes"),
            ("agent:main:main", {"text": "GIF\0\1"}, 400, "there is binary data in it"),
            ("agent:main:main", {"text": "\ud800"}, 422, "body.text"),
            ("agent:main:main", {"text": "  "}, 400, "the message is empty"),
            ("agent:main:main", {"text": "Hello", "colour": "red"}, 422, "colour"),
            ("agent:main:main", {"text": "Hello", "queue_mode": "loud"}, 400, "no queue mode 'loud'"),
            ("agent:main:main", {"text": "Hello", "thinking": "wild"}, 400, "thinking is one of"),
            ("agent:main:main", {"text": "Hello", "model": "none/such"}, 409, "none"),
        ],
    )
    def test_messages(self, shared: Running, key: str, body: Any, status: int, message: str) -> None:
        answer = shared.client.post(
            f"/api/sessions/{key}/messages",
            content=json.dumps(body),
            headers=BEARER | {"Content-Type": "application/json"},
        )
        assert (answer.status_code, message in answer.text) == (status, True), answer.text

    def test_labels(self, shared: Running) -> None:
        def change(key: str, label: str) -> int:
            answer = shared.client.patch(f"/api/sessions/{key}", json={"label": label}, headers=BEARER)
            return int(answer.status_code)

        assert change("telegram:dm:1", "a/b: ours") == 200
        assert change("telegram:dm:2", "a/b: ours") == 409
        assert change("telegram:dm:2", "a" * 65) == 400
        assert shared.get("/api/sessions/a%2Fb%3A%20ours").json()["key"] == "agent:main:telegram:dm:1"
        assert shared.get("/api/sessions/agent%3Amain%3Atelegram%3Adm%3A1").status_code == 200
        assert shared.get("/api/sessions/telegram:dm:77").status_code == 404


def test_a_trigger_of_the_main_session_has_its_lane_and_its_result_is_read_there(house: House) -> None:
    order = {"name": "order", "type": "webhook", "process": "work", "session": "main"}
    house.install(package("booker", [order]), BINDINGS | {"triggers": {}, "model": "script/booker.yaml"})
    (house.root / "booker.yaml").write_text('[{"delay": 2, "text": "Order 7 is booked."}]')
    replies = [{"text": "First."}, {"text": "Second."}]
    (house.root / "play.yaml").write_text(json.dumps({"log": "asked.jsonl", "replies": replies}))
    with house.open() as gateway:
        run_id = gateway.hook("booker/order", {"id": "7"}).json()["run_id"]
        assert gateway.get(MAIN).json()["run_id"] == run_id
        first = gateway.post(f"{MAIN}/messages", {"text": "Hello", "wait": 60}).json()
        ends, begins = (gateway.ended(each)["attempts"][0] for each in (run_id, first["run_id"]))
        assert begins["started_at"] >= ends["ended_at"], "it waited for the expert"
        event, *_ = gateway.get(f"{MAIN}/messages").json()
        assert event["role"] == "event"
        assert "Order 7 is booked." in event["text"]
        assert (house.root / "asked.jsonl").read_text().count("Order 7 is booked.") == 1, "it was seen"
        gateway.post(f"{MAIN}/messages", {"text": "And the order?", "wait": 60})
        assert (house.root / "asked.jsonl").read_text().count("Order 7 is booked.") == 1
