"""What becomes of a message that comes while a turn is at work, as whoever sends it over HTTP sees it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.held_model import Format, HeldModel, held_model
from tests.integration.gateway.harness import House, Running
from tests.integration.models import providers

MAIN = "/api/sessions/agent:main:main"


@dataclass
class Desk:
    """A gateway whose model answers when it is told to."""

    gateway: Running
    model: HeldModel

    def send(self, text: str, mode: str | None = None, **more: Any) -> dict[str, Any]:
        body = {"text": text, **({"queue_mode": mode} if mode else {}), **more}
        answer = self.gateway.post(f"{MAIN}/messages", body)
        assert answer.status_code == 202, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def idle(self) -> None:
        self.gateway.until(lambda: self.gateway.get(MAIN).json()["status"] == "idle")

    def items(self, role: str = "") -> list[str]:
        found = self.gateway.get(f"{MAIN}/messages", params={"limit": 1000}).json()
        return [each["text"] for each in found if not role or each["role"] == role]

    def run(self, run_id: str) -> dict[str, Any]:
        return self.gateway.ended(run_id)

    def event(self, event_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.gateway.get(f"/api/events/{event_id}").json()
        return found


@contextmanager
def desk(
    tmp_path: Path, api: str = "openai-completions", database: str | None = None, **queue: Any
) -> Iterator[Desk]:
    with held_model() as model:
        house = House(tmp_path / "home").furnish()
        base = f"{model.url}/v1" if api.startswith("openai") else model.url
        entry = {"baseUrl": base, "apiKey": "sk-test", "api": api, "models": [{"id": "m1"}]}
        house.configure(
            agents={"defaults": {"model": "local/m1"}},
            models={"providers": {"local": entry}},
            messages={"queue": {"debounceMs": 0} | queue},
            **({"experts": {"database": database}} if database else {}),
        )
        with house.open() as gateway:
            yield Desk(gateway, model)


def test_steer_stands_before_the_next_decision_of_the_turn_at_work(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        first = here.send("first")
        assert first["queued"] == "started"
        here.model.asked(0)
        second = here.send("second")
        assert (second["queued"], second["run_id"]) == ("steered", first["run_id"])
        here.model.call(0)
        assert here.model.told(1) == ["first", "second"]
        here.model.say(1, "Both.")
        assert here.run(first["run_id"])["outcome"] == "completed"
        assert here.items("assistant")[-1] == "Both."
        assert len(here.model.requests) == 2


def test_one_queued_message_never_switches_steering_off(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        here.send("first")
        here.model.asked(0)
        assert here.send("later", "followup")["queued"] == "queued"
        for number in (1, 2):
            assert here.send(f"now {number}", "steer")["queued"] == "steered"
        here.model.call(0)
        assert here.model.told(1) == ["first", "now 1", "now 2"]
        here.model.say(1, "Done.")
        assert here.model.told(2) == ["first", "now 1", "now 2", "later"]
        here.model.say(2, "Done, too.")
        here.idle()


def test_steer_that_came_too_late_is_a_turn_afterwards(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        first = here.send("first")
        here.model.asked(0)
        late = here.send("late", "steer")
        here.model.say(0, "Finished.")
        assert here.model.told(1) == ["first", "late"]
        here.model.say(1, "That as well.")
        here.idle()
        turn = here.event(late["event_id"])["run"]["id"]
        assert turn != first["run_id"]


@pytest.mark.parametrize("mode", ["followup", "queue"])
def test_followup_and_queue_are_turns_of_their_own_in_order(tmp_path: Path, mode: str) -> None:
    with desk(tmp_path) as here:
        here.send("first")
        here.model.asked(0)
        assert [here.send(text, mode)["queued"] for text in ("a", "b")] == ["queued", "queued"]
        here.model.say(0, "1")
        assert here.model.told(1) == ["first", "a"]
        here.model.say(1, "2")
        assert here.model.told(2) == ["first", "a", "b"]
        here.model.say(2, "3")
        here.idle()
        assert here.items() == ["first", "1", "a", "2", "b", "3"]


def test_collect_makes_one_turn_of_all_that_came(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        here.send("first")
        here.model.asked(0)
        assert {here.send(text, "collect")["queued"] for text in ("a", "b", "c")} == {"collected"}
        here.model.say(0, "1")
        assert here.model.told(1) == ["first", "a", "b", "c"]
        here.model.say(1, "All three.")
        here.idle()
        assert len(here.model.requests) == 2


def test_steer_backlog_makes_one_turn_of_what_came_too_late(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        here.send("first")
        here.model.asked(0)
        assert here.send("in time", "steer-backlog")["queued"] == "steered"
        here.model.call(0)
        assert here.model.told(1) == ["first", "in time"]
        for text in ("late 1", "late 2"):
            here.send(text, "steer-backlog")
        here.model.say(1, "Done.")
        assert here.model.told(2) == ["first", "in time", "late 1", "late 2"]
        here.model.say(2, "Those, too.")
        here.idle()
        assert len(here.model.requests) == 3


def test_interrupt_ends_the_turn_and_takes_what_waited_along(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        first = here.send("first")
        here.model.asked(0)
        here.send("waits", "followup")
        stop = here.send("stop, do this", "interrupt")
        assert stop["queued"] == "interrupted"
        assert here.model.told(1) == ["first", "waits", "stop, do this"]
        here.model.say(1, "This, then.")
        assert here.run(first["run_id"])["outcome"] == "cancelled"
        assert here.run(stop["run_id"])["outcome"] == "completed"


def test_the_mode_of_a_session_is_its_own(tmp_path: Path) -> None:
    with desk(tmp_path, mode="collect") as here:
        here.send("first")
        here.model.asked(0)
        assert here.send("a")["queued"] == "collected"
        patched = here.gateway.client.patch(
            MAIN, json={"queue_mode": "steer"}, headers={"Authorization": "Bearer gateway-token-for-tests"}
        )
        assert patched.status_code == 200
        assert here.send("b")["queued"] == "steered"
        assert here.send("c", "queue")["queued"] == "queued"
        here.model.say(0, "1")
        assert here.model.told(1) == ["first", "a", "b"], "what was to steer steers the next turn"
        here.model.say(1, "2")
        here.model.say(2, "3")
        here.idle()
        assert here.items("user") == ["first", "a", "b", "c"]


@pytest.mark.parametrize(
    ("drop", "told"),
    [
        ("old", ["first", "b", "c"]),
        ("new", ["first", "a", "b"]),
        ("summarize", ["first", "Messages that were dropped", "b", "c"]),
    ],
)
def test_more_than_may_wait_is_dropped_with_a_reason(tmp_path: Path, drop: str, told: list[str]) -> None:
    with desk(tmp_path, mode="collect", cap=2, drop=drop) as here:
        here.send("first")
        here.model.asked(0)
        sent = {text: here.send(text) for text in ("a", "b", "c")}
        assert (sent["c"]["queued"] == "dropped") == (drop == "new")
        here.model.say(0, "1")
        seen = here.model.told(1)
        assert [text.partition(" because")[0] for text in seen] == told
        if drop == "summarize":
            assert "- a" in seen[1]
        here.model.say(1, "2")
        here.idle()
        dropped = here.event(sent["c" if drop == "new" else "a"]["event_id"])
        assert dropped["outcome"] == "skipped"
        assert "2 messages were waiting" in dropped["reason"]


def test_twenty_at_once_start_one_turn_and_each_is_said_once(tmp_path: Path) -> None:
    with desk(tmp_path, mode="collect") as here:
        texts = [f"message {number}" for number in range(20)]
        with ThreadPoolExecutor(20) as pool:
            sent = list(pool.map(here.send, texts))
        assert [each["queued"] for each in sent].count("started") == 1
        here.model.say(0, "1")
        here.model.say(1, "2")
        here.idle()
        assert sorted(here.items("user")) == sorted(texts)
        assert len(here.model.requests) == 2


FORMATS: dict[str, Format] = {
    "openai-completions": providers.chat,
    "openai-responses": providers.responses,
    "anthropic-messages": providers.anthropic,
}


@pytest.mark.parametrize("api", FORMATS)
@pytest.mark.parametrize("called", [False, True], ids=["before an answer", "after a call"])
def test_an_interrupted_turn_leaves_a_transcript_that_every_provider_takes(
    tmp_path: Path, api: str, called: bool
) -> None:
    with desk(tmp_path, api) as here:
        here.send("first")
        if called:
            here.model.answer(0, FORMATS[api](True))
        last = int(called)
        here.model.asked(last)
        here.send("second", "interrupt")
        body = here.model.asked(last + 1)
        check_transcript(body)
        here.model.answer(last + 1, FORMATS[api](False))
        here.idle()
        here.send("third")
        check_transcript(here.model.asked(last + 2))
        here.model.answer(last + 2, FORMATS[api](False))
        here.idle()


def check_transcript(body: dict[str, Any]) -> None:
    """People and model take turns, and each call has its result right after it."""
    found = [each for message in body.get("messages") or body["input"] for each in parts(message)]
    found = [each for each in found if each[0] != "system"]
    calls = [name for kind, name in found if kind == "call"]
    results = [name for kind, name in found if kind == "result"]
    assert calls == results, json.dumps(body, indent=1)
    sides = ["model" if kind in ("model", "call") else "person" for kind, _ in found]
    assert sides[0] == sides[-1] == "person"
    for (kind, name), (after, answered) in itertools.pairwise(found):
        assert kind != "call" or (after, answered) == ("result", name)
        assert not (kind == after == "user"), "two messages of people without an answer between them"


def parts(message: dict[str, Any]) -> list[tuple[str, str]]:
    """What a message is, in any of the three formats."""
    kind = message.get("type")
    if kind == "function_call":
        return [("call", message["call_id"])]
    if kind == "function_call_output":
        return [("result", message["call_id"])]
    role = message["role"]
    if role == "tool":
        return [("result", message["tool_call_id"])]
    if message.get("tool_calls"):
        return [("call", each["id"]) for each in message["tool_calls"]]
    blocks = message["content"] if isinstance(message["content"], list) else []
    uses = [("call", each["id"]) for each in blocks if each.get("type") == "tool_use"]
    results = [("result", each["tool_use_id"]) for each in blocks if each.get("type") == "tool_result"]
    return uses or results or [("model" if role == "assistant" else role, "")]
