"""What a model says with tags, as sessions, runs, streams and the API of OpenAI tell it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.gateway.harness import BEARER, House, Running
from tests.integration.gateway.test_sessions import MAIN

TAGGED = (
    "<think>A secret plan.</think>[[reply_to_current]] Hello.\n\n"
    "Say `<think>` like that. [[media:https://x.example/a.png]]"
)
SHOWN = "Hello.\n\nSay `<think>` like that."


@pytest.fixture
def house(house: House) -> House:
    house.configure(agents={"defaults": {"model": {"primary": "script/play.yaml"}}})
    return house


def said(gateway: Running, text: str = "Hi") -> dict[str, Any]:
    answer = gateway.post(f"{MAIN}/messages", {"text": text, "wait": 60}, timeout=60)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def events(gateway: Running, path: str) -> list[dict[str, Any]]:
    """The events of a run that has ended, or ends while they are told."""
    with gateway.client.stream("GET", path, headers=BEARER) as answer:
        assert answer.status_code == 200, answer.read()
        return [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: ")]


def of_kind(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in found if each["type"] == kind]


def test_people_see_the_words_and_programs_the_rest(house: House) -> None:
    house.play({"text": TAGGED, "thinking": "Who is it?"})
    with house.open() as gateway:
        answer = said(gateway)
        assert answer["text"] == SHOWN
        item = gateway.get(f"{MAIN}/messages").json()[-1]
        assert (item["text"], item["reasoning"]) == (SHOWN, "Who is it?\n\nA secret plan.")
        assert item["attachments"] == {"media": ["https://x.example/a.png"]}
        run = gateway.get(f"/api/runs/{answer['run_id']}").json()
        assert run["narrative"] == SHOWN
        result = run["result"]
        assert result["payloads"] == [
            {
                "text": SHOWN,
                "media": ["https://x.example/a.png"],
                "reply_to": "current",
                "as_voice": False,
                "is_error": False,
            }
        ]
        assert (result["stop_reason"], result["aborted"], result["error"]) == ("stop", False, None)
        assert result["duration_ms"] >= 0
        assert (result["pending_tool_calls"], result["sent"], result["silent"]) == ([], [], None)


def test_listeners_are_told_as_much_as_they_ask_for(house: House) -> None:
    reading = {"operation": "ls", "arguments": {"path": "."}}
    house.play({"thinking": "Look first.", "calls": [reading]}, {"text": TAGGED, "delay": 1})
    with house.open() as gateway:
        sent = gateway.post(f"{MAIN}/messages", {"text": "Hi"}).json()
        path = f"/api/runs/{sent['run_id']}/events"
        whole = events(gateway, f"{path}?blocks=true")
        quiet = events(gateway, f"{path}?reasoning=off&verbose=off")
        calls = events(gateway, f"{path}?reasoning=on&verbose=on")
    text = "".join(each.get("text", "") for each in of_kind(whole, "message_update"))
    assert SHOWN.startswith(text)
    assert "secret" not in text
    assert of_kind(whole, "message_end")[-1]["reasoning"] == "A secret plan."
    [end] = of_kind(whole, "tool_execution_end")
    assert end["result"]
    blocks = of_kind(whole, "block_reply")
    assert "\n\n".join(each["text"] for each in blocks if each["text"]) == SHOWN
    assert (blocks[-1]["media"], blocks[-1]["reply_to"]) == (["https://x.example/a.png"], "current")
    assert "secret" not in json.dumps([each for each in quiet if each["type"] != "run_status"])
    assert not of_kind(quiet, "tool_execution_end")
    assert of_kind(calls, "tool_execution_end")[0]["result"] == ""
    assert of_kind(calls, "message_end")[-1]["reasoning"] == "A secret plan."
    assert not of_kind(calls, "block_reply")


@pytest.mark.parametrize(
    ("text", "shown", "silent"),
    [
        ("draft <final>The answer.</final> after", "The answer.", None),
        ("<think>never closed", "never closed", None),
        ("<think>only thought</think>", "", None),
        ("<final>NO_REPLY</final>", "", "NO_REPLY"),
    ],
)
def test_odd_answers(house: House, text: str, shown: str, silent: str | None) -> None:
    house.play({"text": text})
    with house.open() as gateway:
        answer = said(gateway)
        assert answer["text"] == shown
        run = gateway.get(f"/api/runs/{answer['run_id']}").json()
        assert run["result"]["silent"] == silent
        assert [each["text"] for each in run["result"]["payloads"]] == ([shown] if shown else [])


def test_a_failed_turn_says_why_in_its_result(house: House) -> None:
    house.play({"error": {"reason": "context_overflow"}})
    with house.open() as gateway:
        answer = said(gateway)
        result = gateway.get(f"/api/runs/{answer['run_id']}").json()["result"]
        assert result["error"]["kind"] == "context_overflow"
        assert [each["is_error"] for each in result["payloads"]] == [True]
        assert result["stop_reason"] == "error"


def test_the_api_of_openai_tells_the_words_alone(house: House) -> None:
    house.play({"text": TAGGED}, {"text": TAGGED})
    body = {"model": "main", "messages": [{"role": "user", "content": "Hi"}]}
    with house.open() as gateway:
        whole = gateway.post("/v1/chat/completions", body, timeout=60).json()
        assert whole["choices"][0]["message"]["content"] == SHOWN
        streamed = gateway.post("/v1/chat/completions", body | {"stream": True}, timeout=60).text
        chunks = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: {")]
        pieces = [each["choices"][0]["delta"].get("content", "") for each in chunks if each["choices"]]
        assert "".join(pieces) == SHOWN
