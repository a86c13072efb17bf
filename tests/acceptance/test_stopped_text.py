"""What was written of an answer when somebody stops it stays in the session, and says that it was cut."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from colleague.session_text import NOT_WHOLE
from tests.acceptance.held_model import HeldModel, held_model
from tests.acceptance.test_queue_modes import MAIN, Desk, check_transcript, desk
from tests.conftest import Colleague
from tests.integration.gateway.test_page import Browser
from tests.integration.gateway.test_sessions import told
from tests.integration.store.databases import new_database, postgres_url  # noqa: F401 - a fixture
from tests.typist import CTRL_C, CTRL_D, ENTER, typing

HALF = "Bees dance. They show each"
NOTE = "[This turn was interrupted here: this answer is not whole.]"
PAGE = "/chat/session/agent:main:main"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str | None]:
    if request.param == "sqlite":
        yield None
        return
    with new_database(request.getfixturevalue("postgres_url")) as url:
        yield url


def half_said(here: Desk, text: str = HALF, seen: str | None = None) -> str:
    """A turn whose answer has begun, and people have seen it. Returns the run."""
    run_id = str(here.send("Why do bees dance?")["run_id"])
    here.model.begin(0, *re.findall(r"\s*\S+", text))
    shown, wanted = "", text if seen is None else seen
    for _, kind, data in told(here.gateway, f"/api/runs/{run_id}/events"):
        shown += data.get("text", "") if kind == "message_update" else ""
        if shown == wanted and kind in ("message_update", "message_start"):
            break
    return run_id


def items(here: Desk) -> list[tuple[str, str, str]]:
    found = here.gateway.get(f"{MAIN}/messages", params={"limit": 1000}).json()
    return [(each["role"], each["source"], each["text"]) for each in found if each["role"] != "event"]


def model_told(model: HeldModel, number: int) -> list[tuple[str, str]]:
    """What was said so far, as the model is told in this request."""
    body = model.asked(number)
    check_transcript(body)
    return [
        (each["role"], json.dumps(each["content"])) for each in body["messages"] if each["role"] != "system"
    ]


def stop(here: Desk, run_id: str, way: str) -> None:
    if way == "cancel":
        answer = here.gateway.post(f"/api/runs/{run_id}/cancel")
    elif way == "page":
        person = Browser(here.gateway)
        person.log_in()
        assert person.post(f"{PAGE}/stop").status_code in (200, 303)
        return
    else:
        answer = here.gateway.post(f"{MAIN}/stop")
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("way", ["stop", "cancel", "page"])
def test_it_stays_where_it_was_written(tmp_path: Path, database: str | None, way: str) -> None:
    with desk(tmp_path, database=database) as here:
        run_id = half_said(here)
        stop(here, run_id, way)
        assert here.run(run_id)["outcome"] == "cancelled"
        here.idle()
        assert items(here)[1:] == [("assistant", "stopped", HALF)]
        here.send("Go on.")
        (_, _), (role, half), (_, last) = model_told(here.model, 1)
        assert (role, "Go on." in last) == ("assistant", True)
        assert half.startswith(json.dumps(HALF)[:-1])
        assert NOTE in half
        here.model.say(1, "Other the way.")
        here.idle()
        assert [each[2] for each in items(here)] == ["Why do bees dance?", HALF, "Go on.", "Other the way."]
        assert [each[1] for each in items(here) if each[0] == "assistant"] == ["stopped", ""]


def test_a_message_that_interrupts_stands_behind_it(tmp_path: Path, database: str | None) -> None:
    with desk(tmp_path, database=database) as here:
        first = half_said(here)
        assert here.send("Shorter!", "interrupt")["queued"] == "interrupted"
        assert here.run(first)["outcome"] == "cancelled"
        _, (role, half), (_, last) = model_told(here.model, 1)
        assert (role, NOTE in half, "Shorter!" in last) == ("assistant", True, True)
        here.model.say(1, "To talk.")
        here.idle()
        assert [each[2] for each in items(here)] == ["Why do bees dance?", HALF, "Shorter!", "To talk."]


def test_people_see_that_it_was_stopped(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        stop(here, half_said(here), "stop")
        here.idle()
        person = Browser(here.gateway)
        person.log_in()
        page = person.get(PAGE).text
        assert page.count(HALF) == 1
        assert page.count(NOT_WHOLE) == 1
        assert here.items() == ["Why do bees dance?", HALF, "Stopped by api."]


@pytest.mark.parametrize(
    ("text", "seen", "kept"),
    [
        ("<think>They talk.</think>They dance", "They dance", ["They dance"]),
        ("<think>They talk. Or do", "", []),
        ("NO_REPLY", "", []),
        ("", "", []),
    ],
)
def test_only_what_people_saw_is_kept(tmp_path: Path, text: str, seen: str, kept: list[str]) -> None:
    with desk(tmp_path) as here:
        run_id = half_said(here, text=text, seen=seen)
        stop(here, run_id, "stop")
        here.idle()
        assert here.items("assistant") == kept
        here.send("Go on.")
        model_told(here.model, 1)
        here.model.say(1, "Well.")
        here.idle()


def test_stopped_twice_it_stands_there_once(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        run_id = half_said(here)
        for way in ("stop", "stop", "cancel"):
            stop(here, run_id, way)
        here.model.say(0, " other the way.")
        here.idle()
        assert here.items("assistant") == [HALF]


def test_an_answer_whose_calls_are_made_is_stored_already(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        run_id = half_said(here)
        task = json.dumps({"task": "Count the bees", "label": "counter"})
        here.model.call(0, "sessions_spawn", task)
        here.model.asked(2)  # the child, and the turn again
        stop(here, run_id, "stop")
        here.idle()
        assert items(here)[1:] == [("assistant", "", HALF)]


class TestOnATerminal:
    def test_ctrl_c(self, colleague: Colleague) -> None:
        with held_model() as model:
            configure(colleague, model)
            with typing(colleague, "chat") as person:
                person.until("Ctrl-D leaves")
                person.type("Why do bees dance?", ENTER)
                model.begin(0, "Bees dance.", " They show", " each")
                person.until("They show each")
                person.type(CTRL_C)
                person.until(NOT_WHOLE)
                assert person.shown.rindex("They show each") < person.shown.index("stopped run")
                person.type("Go on.", ENTER)
                model.say(1, "Other the way.")
                person.until("Other the way.")
                person.type(CTRL_D)
                person.end()
            shown = colleague.ok("session", "show", "main").out
        assert shown.index(HALF) < shown.index(NOT_WHOLE) < shown.index("Go on.")
        assert NOTE in json.dumps(model.requests[1])


def configure(colleague: Colleague, model: HeldModel, **of_model: Any) -> None:
    entry = {"baseUrl": f"{model.url}/v1", "apiKey": "sk-test", "models": [{"id": "m1", **of_model}]}
    settings: dict[str, Any] = {
        "agents": {"defaults": {"model": "local/m1"}},
        "models": {"providers": {"local": entry | {"api": "openai-completions"}}},
    }
    colleague.home.mkdir(parents=True, exist_ok=True)
    file = colleague.home / "colleague.json"
    file.write_text(json.dumps(settings))
    file.chmod(0o600)
