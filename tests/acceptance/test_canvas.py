"""`canvas`: what an agent shows is stored, listed, opened and removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from colleague.home import Home
from colleague.runtime.gateway_file import running_gateway
from colleague.runtime.own_token import read_own_token
from tests.acceptance.test_with_gateway import serving
from tests.conftest import Colleague, Said
from tests.office import call, calls

CHART = {
    "type": "bar",
    "labels": ["Mon", "Tue<script>"],
    "series": [{"name": "Deals", "values": [3, None]}, {"name": "Lost", "values": [-1, 2.5]}],
}


def turn(colleague: Colleague, *replies: dict[str, Any]) -> Said:
    colleague.home.mkdir(parents=True, exist_ok=True)
    play = colleague.home / "play.yaml"
    play.write_text(json.dumps({"replies": list(replies)}))
    return colleague.ok("agent", "show me", "--model", f"script/{play}")


def results(colleague: Colleague) -> list[str]:
    run = colleague.ok("run", "list", "--limit", "1", "--json").json[0]
    return [each["result"]["text"] for each in colleague.ok("run", "show", run["id"], "--json").json["calls"]]


def asked(colleague: Colleague, path: str) -> httpx2.Response:
    home = Home(colleague.home)
    running = running_gateway(home)
    assert running is not None
    headers = {"Authorization": f"Bearer {read_own_token(home)}"}
    return httpx2.get(f"{running.url}{path}", headers=headers, timeout=60)


def test_what_an_agent_shows_can_be_looked_at(colleague: Colleague, tmp_path: Path) -> None:
    document = {
        "action": "show",
        "title": "Plan <b>",
        "kind": "document",
        "text": "# Plan\n<script>alert(1)</script> [x](javascript:alert(1)) ![](http://x/y.png)",
    }
    table = {
        "action": "show",
        "title": "Deals",
        "kind": "table",
        "columns": ["Who", "Won"],
        "rows": [["Ada|Bob", True], ["<i>", 4]],
    }
    chart = {"action": "show", "title": "Week", "kind": "chart", "chart": CHART}
    html = {"action": "show", "title": "Page", "kind": "html", "text": "<script>alert(1)</script>"}
    shown = calls(*(("canvas", each) for each in (document, table, chart, html)))
    said = turn(colleague, shown, {"text": "There."})
    assert said.out == "There.\n"
    listed = colleague.ok("canvas", "list", "--json").json
    assert {each["kind"] for each in listed} == {"document", "table", "chart", "html"}
    ids = {each["kind"]: each["id"] for each in listed}
    assert json.loads(results(colleague)[0])["canvas"] == ids["document"]
    assert "| Ada\\|Bob | true |" in colleague.ok("canvas", "show", ids["table"][-8:]).out
    assert "| Mon | 3 | -1 |" in colleague.ok("canvas", "show", ids["chart"]).out
    for kind, whole in ids.items():
        file = tmp_path / f"{kind}.html"
        colleague.ok("canvas", "open", whole, "--output", str(file))
        page = file.read_text()
        assert "<script" not in page
        assert "javascript:alert" not in page.replace("(javascript:alert(1))", "")
        assert "<img" not in page
        assert "default-src 'none'" in page
    assert "<rect" in (tmp_path / "chart.html").read_text()

    with serving(colleague):
        assert len(asked(colleague, "/api/canvases?session=main").json()) == 4
        found = asked(colleague, f"/api/canvases/{ids['chart']}").json()
        assert (found["content"], found["version"]) == (CHART, 1)
        colleague.ok("canvas", "remove", ids["html"][-8:])
        assert asked(colleague, f"/api/canvases/{ids['html']}").status_code == 404
    assert colleague("canvas", "show", ids["html"]).code == 1


def test_a_canvas_has_versions_and_wrong_ones_are_refused(colleague: Colleague) -> None:
    first = {"action": "show", "title": "Plan", "kind": "document", "text": "one"}
    turn(colleague, call("canvas", **first), {"text": "Done."})
    [made] = colleague.ok("canvas", "list", "--json").json
    colleague.ok("session", "reset", "main")
    wrong: list[dict[str, Any]] = [
        {"action": "show", "title": "T", "kind": "table", "columns": ["a"], "rows": [["b", "c"]]},
        {"action": "show", "title": "C", "kind": "chart", "chart": {**CHART, "labels": ["one"]}},
        {"action": "show", "title": " ", "kind": "document", "text": "x"},
        {"action": "show", "title": "X", "kind": "document"},
        {"action": "show", "id": "nonexistent", "title": "X", "kind": "document", "text": "x"},
    ]
    second = {**first, "id": made["id"], "text": "two"}
    turn(colleague, calls(*(("canvas", each) for each in (second, *wrong))), {"text": "Done."})
    assert [each["version"] for each in colleague.ok("canvas", "list", "--json").json] == [2]
    assert colleague.ok("canvas", "show", made["id"]).out.endswith("two\n")
    assert colleague.ok("canvas", "show", made["id"], "--version", "1").out.endswith("one\n")
    told = results(colleague)
    for text, reason in zip(
        told[1:], ("row 1", "'Deals'", "the title", "text is missing", "no canvas"), strict=True
    ):
        assert reason in text


@pytest.mark.parametrize("arguments", [["canvas", "show", "none"], ["canvas", "remove", "nothing-here"]])
def test_what_is_not_there(colleague: Colleague, arguments: list[str]) -> None:
    said = colleague(*arguments)
    assert said.code == 1
    assert "there is no canvas" in said.err
