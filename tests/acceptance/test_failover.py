"""Two keys and two models, of which the first fails, as a person types it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyjson5
import pytest

from tests.acceptance.provider import HELLO, OVERLOADED, Provider, providing
from tests.acceptance.test_with_gateway import serving
from tests.conftest import Colleague
from tests.integration.models import openai_wire as wire
from tests.integration.models.server import Page, Stream
from tests.unit.pictures.samples import png

LIMITED = Page(429, wire.error("Rate limit reached", code="rate_limit_exceeded"))
WRONG = Page(401, wire.error("Incorrect API key provided"))
KEYS = {"WORK_KEY": "sk-work-0123456789", "HOME_KEY": "sk-home-0123456789"}


@pytest.fixture
def first() -> Iterator[Provider]:
    with providing(HELLO) as found:
        yield found


@pytest.fixture
def second() -> Iterator[Provider]:
    with providing(HELLO) as found:
        yield found


def settle(colleague: Colleague, first: Provider, second: Provider | None = None, **more: Any) -> None:
    """The first provider has the keys work and home; the second is the one to fall back to."""
    providers = {"lab": _entry(first)} | (
        {"spare": _entry(second, apiKey="sk-spare-0123456")} if second else {}
    )
    choice = {"primary": "lab/m1", "fallbacks": ["spare/m1"] if second else []}
    profiles = {
        name: {"provider": "lab", "key": f"${{{name.upper()}_KEY}}", "mode": "api_key"}
        for name in ("work", "home")
    }
    settings = {
        "agents": {"defaults": {"model": choice}},
        "models": {"providers": providers},
        "auth": {"profiles": profiles, "order": {"lab": ["work", "home"]}},
    }
    colleague.home.mkdir(parents=True, exist_ok=True)
    (colleague.home / "colleague.json").write_text(json.dumps(settings | more))


def _entry(provider: Provider, **more: str) -> dict[str, Any]:
    return {
        "baseUrl": f"{provider.wire.url}/v1",
        "api": "openai-completions",
        "models": [{"id": "m1"}],
    } | more


def keys_asked(provider: Provider) -> list[str]:
    return [each.headers["authorization"].split("-")[1] for each in provider.wire.requests]


def listed(colleague: Colleague) -> dict[str, Any]:
    found = colleague("model", "auth", "list", "--json", **KEYS)
    assert found.code == 0, found.err
    return {each["profile"]: each for each in found.json}


def test_the_second_key_answers_and_the_first_rests(colleague: Colleague, first: Provider) -> None:
    settle(colleague, first)
    first.answer(LIMITED, HELLO)
    said = colleague("agent", "hello", **KEYS)
    assert (said.code, said.out) == (0, "Good morning.\n")
    assert "lab/m1 answers 429 (Rate limit reached); lab/m1 with home is asked" in said.err
    assert keys_asked(first) == ["work", "home"]
    profiles = listed(colleague)
    assert (profiles["work"]["state"], profiles["home"]["state"]) == ("cooldown", "ready")
    assert profiles["work"]["failures"] == {"rate_limit": 1}
    assert profiles["home"]["is_last_good"]
    [run] = colleague.ok("run", "list", "--json").json
    requests = colleague.ok("run", "show", run["id"], "--json").json["model_requests"]
    assert [(each["profile"], each["outcome"]) for each in requests] == [
        ("work", "rate_limit"),
        ("home", "answered"),
    ]
    assert (requests[1]["input_tokens"], requests[1]["output_tokens"]) == (100, 20)
    assert colleague("agent", "again", **KEYS).code == 0
    assert keys_asked(first) == ["work", "home", "home"]
    assert "work" in colleague.ok("model", "auth", "clear-cooldown").out
    assert colleague("agent", "once more", **KEYS).code == 0
    assert keys_asked(first) == ["work", "home", "home", "work"]
    shown = colleague("model", "auth", "list", **KEYS)
    assert not any(key in shown.out + shown.err + said.err for key in KEYS.values())


def test_the_model_to_fall_back_to_answers(colleague: Colleague, first: Provider, second: Provider) -> None:
    settle(colleague, first, second)
    first.answer(OVERLOADED)
    said = colleague("agent", "hello", **KEYS)
    assert (said.code, said.out) == (0, "Good morning.\n")
    assert "spare/m1 with spare:default is asked" in said.err
    assert second.requests == 1
    tried = first.requests
    assert colleague("agent", "hello again", **KEYS).code == 0
    assert (first.requests, second.requests) == (tried, 2)


def test_each_model_is_shown_the_pictures_that_it_can_see(
    colleague: Colleague, first: Provider, second: Provider
) -> None:
    settle(colleague, first, second)
    file = colleague.home / "colleague.json"
    settings = json.loads(file.read_text())
    settings["models"]["providers"]["spare"]["models"] = [{"id": "m1", "input": ["text", "image"]}]
    file.write_text(json.dumps(settings))
    picture = colleague.home / "workspace" / "cat.png"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(png())
    first.answer(OVERLOADED)
    assert colleague("agent", "what is on cat.png?", **KEYS).code == 0
    blind, seeing = (json.dumps(each.wire.requests[-1].body["messages"]) for each in (first, second))
    assert "this model sees no pictures" in blind
    assert "image_url" not in blind
    assert "data:image/png;base64," in seeing
    assert "this model sees no pictures" not in seeing


def test_a_model_that_does_not_stream_is_asked_for_one_piece(colleague: Colleague, first: Provider) -> None:
    settle(colleague, first)
    file = colleague.home / "colleague.json"
    settings = json.loads(file.read_text())
    settings["agents"]["defaults"]["models"] = {"lab/m1": {"streaming": False}}
    settings["models"]["providers"]["lab"]["models"] = [{"id": "m1", "name": "The lab's best"}]
    file.write_text(json.dumps(settings))
    first.answer(Page(200, wire.whole("Good morning.")))
    said = colleague("agent", "hello", **KEYS)
    assert (said.code, said.out) == (0, "Good morning.\n")
    assert not first.wire.requests[-1].body.get("stream")
    assert "lab/m1 (The lab's best)" in colleague("model", "list", **KEYS).out


def test_all_exhausted_is_one_error(colleague: Colleague, first: Provider, second: Provider) -> None:
    settle(colleague, first, second)
    first.answer(LIMITED)
    second.answer(WRONG)
    said = colleague("agent", "hello", **KEYS)
    assert said.code == 1
    for part in (
        "1. lab/m1 with work: ",
        "2. lab/m1 with home: ",
        "3. spare/m1 with spare:default: ",
        "is free again at",
    ):
        assert part in said.err
    assert "colleague model auth list" in said.err
    [run] = colleague.ok("run", "list", "--json").json
    assert (run["outcome"], run["trouble"]) == ("failed", None)


def test_half_an_answer_is_not_shown_twice(colleague: Colleague, first: Provider) -> None:
    settle(colleague, first)
    first.answer(Stream(wire.spoken("Good ", "mor"), end="cut"), HELLO)
    said = colleague("agent", "hello", **KEYS)
    assert (said.code, said.out) == (0, "Good morning.\n")
    assert "broke off" in said.err
    [item] = [
        each
        for each in colleague.ok("session", "show", "--json").json["messages"]
        if each["role"] == "assistant"
    ]
    assert item["text"] == "Good morning."


def test_profiles_of_openclaw_are_read_and_never_written(colleague: Colleague, first: Provider) -> None:
    settle(colleague, first, auth={"profiles": {"lab:main": {"provider": "lab", "mode": "token"}}})
    file = colleague.home / "agents" / "main" / "agent" / "auth-profiles.json"
    file.parent.mkdir(parents=True)
    stored = {
        "version": 1,
        "profiles": {
            "lab:main": {"type": "token", "provider": "lab", "token": "tok-main-0123456789"},
            "lab:old": {"type": "api_key", "provider": "lab", "key": "sk-old-0123456789"},
        },
        "order": {"lab": ["lab:old", "lab:main"]},
    }
    file.write_text(json.dumps(stored))
    first.answer(LIMITED, HELLO)
    assert colleague("agent", "hello").out == "Good morning.\n"
    assert keys_asked(first) == ["old", "main"]
    assert json.loads(file.read_text()) == stored
    assert listed(colleague)["lab:main"]["mode"] == "token"


def test_a_profile_file_that_is_no_json(colleague: Colleague, first: Provider) -> None:
    settle(colleague, first)
    file = colleague.home / "agents" / "main" / "agent" / "auth-profiles.json"
    file.parent.mkdir(parents=True)
    file.write_text('{\n  "profiles": {\n    oops\n')
    said = colleague("agent", "hello", **KEYS)
    assert (said.code, said.out) == (0, "Good morning.\n")
    assert f"{file}:" in said.err
    assert "Traceback" not in said.err
    assert file.read_text() == '{\n  "profiles": {\n    oops\n'


def test_profiles_are_added_ordered_and_removed(colleague: Colleague, first: Provider) -> None:
    settle(colleague, first)
    added = colleague("model", "auth", "add", "lab:third", "--provider", "lab", "--env", "THIRD_KEY")
    assert added.code == 0
    assert "THIRD_KEY is not set yet" in added.err
    settings = colleague.home / "colleague.json"
    assert pyjson5.decode(settings.read_text())["auth"]["profiles"]["lab:third"]["key"] == "${THIRD_KEY}"
    assert colleague("model", "auth", "add", "x", "--provider", "lab", "--env", "sk-not a name").code == 2
    order = colleague("model", "auth", "order", "lab", "home", "--json", **KEYS)
    assert order.json["order"] == ["home", "work", "lab:third"]
    assert colleague("agent", "hello", **KEYS).code == 0
    assert keys_asked(first) == ["home"]
    assert colleague("model", "auth", "order", "lab", "--json").json["order"] == ["work", "home", "lab:third"]
    assert colleague("model", "auth", "order", "lab", "hom").code == 1
    secret = "-".join(("sk", "typed", "0123456789"))
    typed = colleague(
        "model", "auth", "add", "lab:typed", "--provider", "lab", "--stdin", stdin=f"{secret}\n"
    )
    assert (typed.code, settings.stat().st_mode & 0o777) == (0, 0o600)
    assert secret not in typed.out + typed.err + colleague("model", "auth", "list", **KEYS).out
    colleague.ok("model", "auth", "remove", "lab:third")
    assert "lab:third" not in listed(colleague)
    assert colleague("model", "auth", "remove", "lab:third").code == 1


def test_a_running_gateway_is_asked_and_takes_profiles_over(
    colleague: Colleague, first: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(colleague, first)
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    with serving(colleague):
        first.answer(LIMITED, HELLO)
        assert colleague("agent", "hello").code == 0
        assert listed(colleague)["work"]["state"] == "cooldown"
        assert "work" in colleague.ok("model", "auth", "clear-cooldown").out
        assert listed(colleague)["work"]["state"] == "ready"
        typed = "-".join(("sk", "typed", "0123456789"))
        add = ("model", "auth", "add", "lab:typed", "--provider", "lab", "--stdin")
        assert colleague(*add, stdin=f"{typed}\n").code == 0
        ordered = colleague.ok("model", "auth", "order", "lab", "lab:typed", "--json")
        assert ordered.json["order"] == ["lab:typed", "work", "home"]
        assert colleague("agent", "again").code == 0
        assert keys_asked(first) == ["work", "home", "typed"]
        unknown = colleague(
            "model", "auth", "add", "lab:new", "--provider", "lab", "--env", "NEW_KEY", NEW_KEY="sk-new-1"
        )
        assert "the gateway cannot use it" in unknown.err
        assert "NEW_KEY" in unknown.err
        colleague.ok("model", "auth", "remove", "lab:typed")
        assert colleague("agent", "once more").code == 0
        assert keys_asked(first)[-1] == "work"
        assert colleague("model", "auth", "order", "lab", "nobody").code == 1


def test_a_session_stays_with_its_key_while_keys_take_turns(colleague: Colleague, first: Provider) -> None:
    settle(colleague, first)
    file = colleague.home / "colleague.json"
    settings = json.loads(file.read_text())
    del settings["auth"]["order"]
    file.write_text(json.dumps(settings))
    for session in ("main", "main", "agent:main:web:dm:1"):
        key = "agent:main:main" if session == "main" else session
        assert colleague("agent", "hello", "--session", key, **KEYS).code == 0
    assert keys_asked(first) == ["work", "work", "home"]
    entry = colleague.ok("session", "show", "--json").json
    shown = entry.get("session", entry)
    assert (shown["auth_profile_override"], shown["auth_profile_override_source"]) == ("work", "auto")
    first.answer(LIMITED, HELLO)
    assert colleague("agent", "hello", **KEYS).code == 0
    assert colleague("agent", "hello", **KEYS).code == 0
    assert keys_asked(first)[3:] == ["work", "home", "home"]
