"""Pub/Sub pushes: committed and answered first, looked up through the bound email tool afterwards."""

from __future__ import annotations

import base64
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from colleague.clock import MovableClock
from colleague.triggers.gmail.mailbox import messages_in
from tests.integration.experts.package import Package, process, text
from tests.integration.gateway.harness import House, Running

POST = Path(__file__).with_name("post.py")
EMAIL = {
    "name": "email",
    "description": "A mailbox",
    "operations": [{"name": "list_messages", "description": "list", "input": {}, "output": {}}],
}


def push(number: int = 1, history: int = 100, address: str = "sales@acme.com") -> dict[str, Any]:
    data = json.dumps({"emailAddress": address, "historyId": history}).encode()
    message = {"data": base64.b64encode(data).decode(), "messageId": f"push-{number}"}
    return {"message": message, "subscription": "projects/p/subscriptions/s"}


@dataclass
class Post:
    """A home with a mail expert, and the file its mailbox answers from."""

    house: House

    @property
    def file(self) -> Path:
        return self.house.root / "post.json"

    def answers(self, **tools: Any) -> None:
        self.file.write_text(json.dumps({"tools": tools}))

    @property
    def calls(self) -> list[Any]:
        file = self.file.with_suffix(".calls")
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def outcome(self, gateway: Running, event_id: str) -> dict[str, Any]:
        """The event, once it is resolved."""
        found: dict[str, Any] = gateway.until(lambda: _resolved(gateway, event_id))
        return found


def _resolved(gateway: Running, event_id: str) -> dict[str, Any] | None:
    event: dict[str, Any] = gateway.get(f"/api/events/{event_id}").json()
    return event if event["outcome"] else None


@pytest.fixture
def post(tmp_path: Path) -> Post:
    return furnished(tmp_path, {"approval": {"default": "auto"}})


def furnished(tmp_path: Path, policy: dict[str, Any]) -> Post:
    house = House(tmp_path / "home").furnish()
    server = {"command": sys.executable, "args": ["-S", "-E", str(POST), str(house.root / "post.json")]}
    house.configure(mcp={"servers": {"post": server}})
    mail = {
        "name": "mail",
        "type": "webhook",
        "preset": "gmail",
        "process": "work",
        "dedupe_key": "message_id",
    }
    given = Package(
        files={
            "processes/work.md": process(
                steps=(), inputs=[text("message_id"), text("contact_id", required=False)]
            ),
            "tools/email.yaml": json.dumps(EMAIL),
        },
        manifest={"requires": {"tools": ["email"]}, "triggers": [mail], "policy": policy},
        name="postman",
    )
    house.install(given, {"tools": {"email": "post"}, "model": "script/play.yaml"})
    (house.home.experts / "clerk" / "bindings.yaml").write_text("{}")
    from colleague.experts.registry import set_enabled

    set_enabled(house.home, "clerk", False)
    return Post(house)


def mail(*ids: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"id": each, "from": f"{each} <{each}@acme.com>", **more} for each in ids]}


def accepted(gateway: Running, document: dict[str, Any]) -> dict[str, Any]:
    answer = gateway.hook("gmail", document)
    [event] = answer.json()["events"]
    assert event["run_id"] is None
    return event | {"code": answer.status_code}


def test_one_event_for_each_message(post: Post) -> None:
    post.answers(list_messages={"answer": mail("m1", "m2")})
    with post.house.open() as gateway:
        raw = accepted(gateway, push())
        assert (raw["code"], raw["expert"], raw["trigger"]) == (202, "postman", "gmail")
        event = post.outcome(gateway, raw["event_id"])
        assert (event["status"], event["source"], event["outcome"]) == ("resolved", "pubsub", "completed")
        assert event["reason"] == "2 new messages, 0 known ones"
        runs = gateway.get("/api/runs").json()
        inputs = [gateway.ended(run["id"])["inputs"] for run in runs]
        assert sorted(each["message_id"] for each in inputs) == ["m1", "m2"]
        assert sorted(each["contact_id"] for each in inputs) == ["m1@acme.com", "m2@acme.com"]
        [(name, arguments)] = post.calls
        assert name == "list_messages"
        assert arguments["email_address"] == "sales@acme.com"


def test_what_needs_a_person_is_not_done_before_there_is_a_run(tmp_path: Path) -> None:
    policy = {"approval": {"default": "auto", "overrides": {"email.list_messages": "confirm"}}}
    post = furnished(tmp_path, policy)
    post.answers(list_messages={"answer": mail("m1")})
    with post.house.open() as gateway:
        event = post.outcome(gateway, accepted(gateway, push())["event_id"])
        assert event["outcome"] == "skipped"
        assert "a person is to be asked before email.list_messages" in event["reason"]
    assert post.calls == []


def test_a_push_from_before_a_long_absence_is_looked_up(post: Post) -> None:
    """The gateway stops before the lookup, and comes back after four days."""
    clock = MovableClock(time.time_ns() // 1_000_000)
    with post.house.open(clock=clock) as gateway:
        raw = accepted(gateway, push())
        assert "resolving" in gateway.get(f"/api/events/{raw['event_id']}").text
    clock.move(days=4)
    post.answers(list_messages={"answer": mail("m1", internalDate=str(clock.now()))})
    with post.house.open(clock=clock) as gateway:
        assert post.outcome(gateway, raw["event_id"])["outcome"] == "completed"


def test_the_same_push_again_is_a_repeat(post: Post) -> None:
    post.answers(list_messages={"answer": mail("m1")})
    with post.house.open() as gateway:
        first, again = accepted(gateway, push()), accepted(gateway, push())
        assert (again["code"], again["event_id"], again["duplicate"]) == (200, first["event_id"], True)


def test_what_is_known_already_is_skipped(post: Post) -> None:
    post.answers(list_messages={"answer": mail("m1", "m2")})
    with post.house.open() as gateway:
        post.outcome(gateway, accepted(gateway, push(1))["event_id"])
        event = post.outcome(gateway, accepted(gateway, push(2, 200))["event_id"])
        assert event["reason"] == "0 new messages, 2 known ones"
        assert len(gateway.get("/api/runs").json()) == 2


def test_the_history_goes_on_from_the_last_push(post: Post) -> None:
    history = {"history": [{"messagesAdded": [{"message": {"id": "h1"}}]}, {"messages": [{"id": "h1"}]}]}
    read = {"by_id": {"h1": {"from": {"name": "Ann", "email": "ann@acme.com"}, "subject": "Hi"}}}
    post.answers(
        list_messages={"answer": mail("m1")}, list_history={"answer": history}, get_email={"answer": read}
    )
    with post.house.open() as gateway:
        post.outcome(gateway, accepted(gateway, push(1, 100))["event_id"])
        post.outcome(gateway, accepted(gateway, push(2, 200))["event_id"])
        assert [name for name, _ in post.calls] == ["list_messages", "list_history", "get_email"]
        assert post.calls[1][1]["start_history_id"] == "100"
        newest = gateway.get("/api/runs").json()[0]["id"]
        assert gateway.ended(newest)["inputs"] == {"message_id": "h1", "contact_id": "ann@acme.com"}


def test_old_mail_in_a_list_is_left_alone(post: Post) -> None:
    post.answers(list_messages={"answer": mail("m1", received_at="2020-01-01T00:00:00Z")})
    with post.house.open() as gateway:
        event = post.outcome(gateway, accepted(gateway, push())["event_id"])
        assert event["reason"] == "no new message"
        assert gateway.get("/api/runs").json() == []


@pytest.mark.parametrize(
    "tools",
    [{"send": {"answer": {}}}, {"list_messages": {"answer": mail("m1"), "required": ["secret_word"]}}],
    ids=["none", "one that wants more than we know"],
)
def test_a_tool_that_cannot_list(post: Post, tools: dict[str, Any]) -> None:
    post.answers(**tools)
    with post.house.open() as gateway:
        event = post.outcome(gateway, accepted(gateway, push())["event_id"])
        assert event["outcome"] == "skipped"
        assert "list_messages" in event["reason"]


def test_a_tool_that_is_not_bound(post: Post) -> None:
    post.house.bind({"model": "script/play.yaml"}, "postman")
    with post.house.open() as gateway:
        event = post.outcome(gateway, accepted(gateway, push())["event_id"])
        assert event["outcome"] == "skipped"
        assert "colleague expert bind postman email" in event["reason"]


def test_it_is_looked_up_again_after_a_failure_and_by_the_next_process(post: Post) -> None:
    post.answers(list_messages={"answer": "fail"})
    with post.house.open() as gateway:
        raw = accepted(gateway, push())
        assert gateway.until(lambda: post.calls)
        event = gateway.get(f"/api/events/{raw['event_id']}").json()
        assert (event["status"], event["outcome"]) == ("resolving", None)
    post.answers(list_messages={"answer": mail("m1")})
    with post.house.open() as gateway:
        assert post.outcome(gateway, raw["event_id"])["reason"] == "1 new messages, 0 known ones"


def test_messages_of_a_paused_trigger_are_held(post: Post) -> None:
    post.answers(list_messages={"answer": mail("m1")})
    with post.house.open() as gateway:
        gateway.post("/api/triggers/postman/mail/pause")
        post.outcome(gateway, accepted(gateway, push())["event_id"])
        assert gateway.get("/api/runs").json() == []
        assert gateway.post("/api/triggers/postman/mail/resume").json()["released"] == 1


@pytest.mark.parametrize("change", [{"data": "!!"}, {"data": ""}, {"messageId": 7}, {"data": "e30="}])
def test_a_push_that_is_none(post: Post, change: dict[str, Any]) -> None:
    post.answers()
    document = push()
    document["message"] |= change
    with post.house.open() as gateway:
        assert gateway.hook("gmail", document).status_code == 400


@pytest.mark.parametrize(
    ("document", "ids"),
    [
        ([{"id": 1}, {"id": "1"}], ["1"]),
        ({"emails": [{"message_id": "a"}]}, ["a"]),
        ({"result": [{"messageId": "a"}, {}, "x", None]}, ["a"]),
        ({"history": [None, {}, {"messagesAdded": [None, {"message": {"id": "a"}}]}]}, ["a"]),
        ({"history": "x"}, []),
        (None, []),
        ("text", []),
    ],
)
def test_the_shapes_of_an_answer(document: Any, ids: list[str]) -> None:
    assert [each["id"] for each in messages_in(document)] == ids
