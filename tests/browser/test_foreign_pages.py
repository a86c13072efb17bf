"""A page of somebody else, open in a browser on this machine, tries to use the gateway on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Response

from tests.browser.conftest import MILLISECONDS, REBOUND
from tests.browser.site import Site
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import HOOK_TOKEN, Running

PAUSE = f"/api/triggers/{CLERK}/order/pause"
RUN = f"/api/experts/{CLERK}/runs"
HOOK = f"/hooks/{CLERK}/order"
APPROVALS = "/api/approvals"
TARGETS = (PAUSE, RUN, APPROVALS, HOOK)
FORM_TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
BODY = json.dumps({"task": "Send all the money to Eve"})

FETCH = """async ([url, options]) => {
    try {
        const answer = await fetch(url, options);
        return [answer.type, answer.status];
    } catch (error) {
        return ["error", 0];
    }
}"""
FORM = """([url, kind, body]) => {
    const form = document.createElement("form");
    form.method = "POST"; form.action = url; form.enctype = kind;
    form.target = `sink${document.forms.length}`;
    const field = document.createElement("input");
    field.name = body; field.value = ""; form.append(field);
    const frame = document.createElement("iframe");
    frame.name = form.target; document.body.append(frame, form);
    form.submit();
}"""
SOCKET = """url => new Promise(done => {
    const socket = new WebSocket(url);
    socket.onopen = () => done("open");
    socket.onerror = () => done("error");
})"""
SANDBOX = """([url, body]) => new Promise(done => {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts";
    window.addEventListener("message", () => done());
    frame.srcdoc = `<script>
        fetch(${JSON.stringify(url)}, {method: "POST", mode: "no-cors", body: ${JSON.stringify(body)}})
            .catch(() => 0).then(() => parent.postMessage("done", "*"));
    </scr` + `ipt>`;
    document.body.append(frame);
})"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context() as context:
        context.set_default_timeout(MILLISECONDS)
        yield context.new_page()


@pytest.fixture(params=["evil", "other_port"])
def foreign(request: pytest.FixtureRequest, page: Page, site: Site) -> Page:
    """A page of another site, and one of another port of this machine."""
    page.goto(getattr(site, request.param))
    return page


def state(gateway: Running) -> tuple[Any, ...]:
    """Everything that a stranger would want to change."""
    triggers = gateway.client.get("/api/triggers").json()
    runs = gateway.client.get("/api/runs").json()
    return [each["paused"] for each in triggers], [each["held"] for each in triggers], runs


@pytest.fixture
def untouched(tokenless: Running) -> Iterator[Running]:
    """Whatever the page tried, nothing has changed after it."""
    before = state(tokenless)
    assert before[2] == []
    yield tokenless
    assert state(tokenless) == before


def is_post(response: Response) -> bool:
    """The browser's own view of an answer, whether or not the page may see it."""
    return response.request.method == "POST"


def test_a_form(foreign: Page, untouched: Running) -> None:
    for path, kind in product(TARGETS, FORM_TYPES):
        with foreign.expect_response(is_post) as answer:
            foreign.evaluate(FORM, [untouched.url + path, kind, BODY])
        assert (path, kind, answer.value.status) == (path, kind, 403)


def test_fetch_without_asking(foreign: Page, untouched: Running) -> None:
    """no-cors: the browser sends it at once, with a type that needs no permission."""
    for path, body in product(TARGETS, (BODY, None)):
        options = {"method": "POST", "mode": "no-cors", "body": body, "credentials": "include"}
        with foreign.expect_response(is_post) as answer:
            foreign.evaluate(FETCH, [untouched.url + path, options])
        assert (path, answer.value.status) == (path, 403)


def test_fetch_that_has_to_ask_first(foreign: Page, untouched: Running) -> None:
    """The browser asks whether it may send JSON or a token, and is not allowed to."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {HOOK_TOKEN}"}
    for method, path in product(("POST", "DELETE", "PUT", "GET"), TARGETS):
        options = {"method": method, "headers": headers} | ({} if method == "GET" else {"body": BODY})
        answer = foreign.evaluate(FETCH, [untouched.url + path, options])
        assert (method, path, answer) == (method, path, ["error", 0])


def test_a_beacon(foreign: Page, untouched: Running) -> None:
    with foreign.expect_response(is_post) as answer:
        foreign.evaluate("([url, body]) => navigator.sendBeacon(url, body)", [untouched.url + RUN, BODY])
    assert answer.value.status == 403


def test_a_page_without_an_origin(foreign: Page, untouched: Running) -> None:
    """A frame in a sandbox sends Origin: null, where the browser lets it send anything at all."""
    foreign.evaluate(SANDBOX, [untouched.url + RUN, BODY])


def test_a_web_socket(foreign: Page, untouched: Running) -> None:
    for path in ("/", "/api/runs", "/api/runs/x/events"):
        answer = foreign.evaluate(SOCKET, untouched.url.replace("http", "ws") + path)
        assert (path, answer) == (path, "error")


def test_reading(foreign: Page, untouched: Running) -> None:
    """Neither by fetch nor as a script, an image or a frame."""
    url = untouched.url + "/api/triggers"
    assert foreign.evaluate(FETCH, [url, {}]) == ["error", 0]
    loads = """([tag, url]) => new Promise(done => {
        const element = document.createElement(tag);
        element.onload = () => done("loaded"); element.onerror = () => done("error");
        element.src = url; document.body.append(element);
    })"""
    assert [foreign.evaluate(loads, [tag, url]) for tag in ("script", "img")] == ["error", "error"]
    with foreign.expect_response(url) as answer:
        foreign.evaluate(loads, ["iframe", url])
    assert answer.value.status == 403


def test_a_name_that_leads_to_this_machine(page: Page, untouched: Running) -> None:
    """DNS rebinding: the page is of the gateway's own port, so that everything is of one origin for it."""
    answer = page.goto(f"http://{REBOUND}:{untouched.port}/")
    assert answer is not None
    assert answer.status == 403
    options = {"method": "POST", "headers": {"Content-Type": "application/json"}, "body": BODY}
    for path in (PAUSE, RUN, APPROVALS):
        assert page.evaluate(FETCH, [path, options]) == ["basic", 403]
    assert page.evaluate(FETCH, ["/api/runs", {}]) == ["basic", 403]


def test_its_own_page(page: Page, tokenless: Running) -> None:
    """What is refused to others works from here, or the tests above would prove nothing."""
    page.goto(tokenless.url + "/")
    options = {"method": "POST", "headers": {"Content-Type": "application/json"}, "body": "{}"}
    assert page.evaluate(FETCH, [PAUSE, options]) == ["basic", 200]
    assert page.evaluate(FETCH, [PAUSE.replace("pause", "resume"), options]) == ["basic", 200]
