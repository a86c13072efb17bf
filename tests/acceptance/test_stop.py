"""Stopping a session, or cancelling a run, ends what it handed over, as whoever looks over HTTP sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.held_model import HeldModel
from tests.acceptance.test_queue_modes import MAIN, Desk, desk

SPAWN = json.dumps({"task": "Count to a million", "label": "counter"})


def begin(here: Desk) -> tuple[str, str]:
    """A turn that has spawned a child; both wait for their model. Returns the two runs."""
    turn = here.send("go")["run_id"]
    here.model.call(0, "sessions_spawn", SPAWN)
    here.model.asked(2)
    return turn, here.gateway.until(lambda: here.gateway.get(f"/api/runs/{turn}").json()["child_runs"])[0]


@pytest.mark.parametrize("way", ["stop", "reset", "cancel", "/new"])
def test_the_children_end_with_the_parent(tmp_path: Path, way: str) -> None:
    with desk(tmp_path) as here:
        turn, child = begin(here)
        if way == "cancel":
            assert here.gateway.post(f"/api/runs/{turn}/cancel").status_code == 200
        elif way == "/new":
            assert here.send("/new")["queued"] == "reset"
        else:
            stopped = here.gateway.post(f"{MAIN}/{way}")
            assert stopped.status_code == 200
            if way == "stop":
                assert stopped.json() == {"run_id": turn, "dropped": 0, "children": 1}
        assert (here.run(turn)["outcome"], here.run(child)["outcome"]) == ("cancelled", "cancelled")
        here.idle()
        assert [each for each in here.items() if "million" in each] == []


def test_a_message_that_interrupts_leaves_what_goes_on_beside_the_turn(tmp_path: Path) -> None:
    with desk(tmp_path) as here:
        turn, child = begin(here)
        assert here.send("and now?", "interrupt")["queued"] == "interrupted"
        assert here.run(turn)["outcome"] == "cancelled"
        by_child = child_request(here.model)
        here.model.say(3, "It goes on.")
        here.model.say(by_child, "1,000,000.")
        here.model.say(4, "It has counted.")
        assert here.run(child)["outcome"] == "completed"
        here.idle()
        assert here.items("assistant")[-2:] == ["It goes on.", "It has counted."]


def child_request(model: HeldModel) -> int:
    """The number of the request that the child made: the second or the third."""
    return next(number for number in (1, 2) if "Count to a million" in said(model.asked(number)))


def said(request: dict[str, Any]) -> str:
    return json.dumps([each for each in request["messages"] if each["role"] == "user"])
