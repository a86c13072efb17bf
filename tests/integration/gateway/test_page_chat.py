"""Chat on the page, without scripts, and what an open page is told."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.integration.gateway.harness import House, Running
from tests.integration.gateway.test_page import Browser
from tests.unit.pictures.samples import chunk, png

MAIN = "/chat/session/agent:main:main"
PAYLOADS = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}")
EVIL = "".join(PAYLOADS)
ASKS = {"operation": "write", "arguments": {"path": "AGENTS.md", "text": EVIL}}
SHOWS = {"action": "show", "title": EVIL, "kind": "html", "text": EVIL}
REPLIES: list[dict[str, Any]] = [
    *({"text": f"Answer {number}: {EVIL}", "thinking": f"Hm {EVIL}"} for number in range(1, 20)),
    {"when": "please write", "text": "I ask.", "calls": [ASKS]},
    {"when": "please show", "calls": [{"operation": "canvas", "arguments": SHOWS}]},
    {"when": "please list", "calls": [{"operation": "ls", "arguments": {"path": EVIL}}]},
    {"when": "please spawn", "calls": [{"operation": "sessions_spawn", "arguments": {"task": "count"}}]},
    {"when": "please hurry", "text": "Slowly.", "delay": 3},
]


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One gateway with an agent that says what its script says."""
    house = House(tmp_path_factory.mktemp("chat") / "home").furnish()
    defaults = {"model": {"primary": "script/play.yaml"}}
    house.configure(
        agents={"defaults": defaults}, tools={"profile": "full", "approvals": {"write": "confirm"}}
    )
    house.play(*REPLIES)
    with house.open() as running:
        yield running


@pytest.fixture
def operator(talking: Running) -> Browser:
    return signed_in(talking)


@pytest.fixture
def path(operator: Browser) -> str:
    """A session of its own."""
    made = operator.post("/chat/new", **{"with": "main"})
    assert made.status_code == 303
    return str(made.headers["location"])


def signed_in(gateway: Running, role: str = "") -> Browser:
    browser = Browser(gateway)
    if not role:
        assert browser.log_in().status_code == 303
        return browser
    link = gateway.post("/api/people", {"name": f"a-{role}", "role": role}).json()["path"]
    assert browser.request("POST", link).status_code == 303
    return browser


def say(browser: Browser, path: str, text: str, **more: str) -> httpx2.Response:
    return browser.post(f"{path}/messages", text=text, **more)


def answered(browser: Browser, path: str, text: str) -> str:
    """The page, once this stands in it and nothing is at work."""

    def look() -> str:
        shown = browser.get(path).text
        return shown if text in shown and 'data-busy="yes"' not in shown else ""

    found: str = browser.gateway.until(look)
    return found


def told(
    browser: Browser, path: str, last_event_id: str = "", **query: Any
) -> Iterator[tuple[str, str, str]]:
    """Id, kind and HTML of what an open page is told."""
    headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
    base = f"http://127.0.0.1:{browser.gateway.port}"
    with (
        httpx2.Client(base_url=base, cookies=browser.cookies, timeout=120) as client,
        client.stream("GET", f"{path}/events", params=query, headers=headers) as answer,
    ):
        assert answer.status_code == 200
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if name and line:
                fields[name] = value
            elif "event" in fields:
                yield fields.get("id", ""), fields["event"], json.loads(fields["data"])
                fields = {}


def no_markup(shown: str) -> None:
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown
    assert ">49<" not in shown


class TestTalking:
    def test_a_message_and_its_answer(self, operator: Browser, path: str) -> None:
        assert say(operator, path, f"Hello {EVIL}").status_code == 303
        shown = answered(operator, path, "Answer 1")
        assert html.escape("Hello <script>") in shown.replace("&#34;", '"')
        assert "Thinking" in shown
        assert "{{ 7 * 7 }}" in shown
        no_markup(shown)

    def test_the_main_agent_comes_first(self, operator: Browser, path: str) -> None:
        say(operator, path, "Hello")
        names = re.findall(r'class="name">([^<]+)', operator.get("/chat").text)
        assert names[0] == "Main agent"
        assert len(names) > 1

    def test_one_form_sent_twice_is_one_message(self, operator: Browser, path: str) -> None:
        for _ in range(2):
            assert say(operator, path, "Once only", once="the-same").status_code == 303
        shown = answered(operator, path, "Answer 1")
        assert shown.count("Once only") == 1

    def test_a_message_during_a_turn(self, operator: Browser, path: str) -> None:
        say(operator, path, "please hurry")
        sent = say(operator, path, "And this")
        assert sent.headers["location"] == f"{path}?told=steered"
        assert "The turn at work reads it before its next step" in operator.get(f"{path}?told=steered").text
        assert "And this" in answered(operator, path, "Answer 2")

    def test_stop(self, operator: Browser, path: str) -> None:
        say(operator, path, "please hurry")
        assert operator.post(f"{path}/stop").status_code == 303
        assert "Stopped by operator" in answered(operator, path, "Stopped by")

    def test_nothing_at_all(self, operator: Browser, path: str) -> None:
        assert "the message is empty" in say(operator, path, "  ").text

    def test_a_new_beginning_keeps_what_was(self, operator: Browser, path: str) -> None:
        say(operator, path, "Remember the heron")
        answered(operator, path, "Answer 1")
        assert operator.post(f"{path}/reset").status_code == 303
        shown = operator.get(path).text
        assert "heron" not in shown
        archive = re.search(r'href="([^"]+archive=[^"]+)"', shown)
        assert archive is not None
        assert "Remember the heron" in operator.get(html.unescape(archive[1])).text
        [hit] = re.findall(r'<li><a href="([^"]+#item-[0-9]+)"', operator.get("/chat/search?q=heron").text)
        place, _, item = html.unescape(hit).partition("#")
        assert f'id="{item}"' in operator.get(place).text

    def test_names_of_others(self, operator: Browser) -> None:
        made = operator.post("/chat/new", **{"with": "main", "label": '<img src=x onerror=alert(1)>"'})
        assert made.status_code == 303
        no_markup(operator.get(made.headers["location"]).text)
        assert "nobody" in operator.post("/chat/new", **{"with": "expert:nobody"}).text
        assert operator.get("/chat/session/agent:main:chat:dm:nobody").status_code == 404
        assert operator.get(f"{MAIN}?archive=nothing").status_code == 404


class TestCommands:
    @pytest.mark.parametrize(
        ("typed", "said"),
        [
            ("/status", "idle"),
            ("/help", "Begin a new conversation"),
            ("/queue collect", "queue mode: collect"),
            ("/think", "as in the settings"),
            ("/context", "The model has seen nothing"),
            ("/stop", "Nothing is at work."),
            ("/experts", "clerk"),
            ("/quit", "the conversation stays"),
            ("/stats", "did you mean /status?"),
            ("/queue collect cap:3", "hold for all sessions"),
            ("/approve ffffffff", "there is no approval"),
        ],
    )
    def test_what_they_say(self, operator: Browser, path: str, typed: str, said: str) -> None:
        assert said in html.unescape(say(operator, path, typed).text)

    def test_where_they_lead(self, operator: Browser, path: str) -> None:
        assert say(operator, path, "/sessions").headers["location"] == "/chat/sessions"
        assert say(operator, path, "/experts clerk").headers["location"].endswith("expert:clerk")
        assert say(operator, path, "/new Hello again").headers["location"] == path
        assert "Hello again" in answered(operator, path, "Answer 1")
        say(operator, path, "//etc is full")
        assert "/etc is full" in answered(operator, path, "Answer 2")


class TestQuestions:
    def test_decided_in_the_conversation(self, operator: Browser, path: str) -> None:
        say(operator, path, "please write it")
        shown = answered(operator, path, "asks before it does")
        no_markup(shown)
        found = re.search(r'action="([^"]+/questions/[^"]+)"', shown)
        digest = re.search(r'name="digest" value="([^"]+)"', shown)
        assert found is not None
        assert digest is not None
        reader = signed_in(operator.gateway, "viewer")
        assert reader.post(found[1], decision="approve", digest=digest[1]).status_code == 403
        wrong = operator.post(found[1], decision="approve", digest="0" * 64)
        assert 'class="problem"' in wrong.text
        approver = signed_in(operator.gateway, "approver")
        assert approver.post(found[1], decision="approve", digest=digest[1]).status_code == 303
        shown = answered(operator, path, "Answer ")
        assert "asks before it does" not in shown
        assert (operator.gateway.home.root / "workspace" / "AGENTS.md").read_text() == EVIL


class TestTextOfOthers:
    def test_tools_and_their_results(self, operator: Browser, path: str) -> None:
        say(operator, path, "please list")
        shown = answered(operator, path, "Answer 2")
        assert 'class="call' in shown
        no_markup(shown)

    def test_what_an_agent_shows(self, operator: Browser, path: str) -> None:
        say(operator, path, "please show")
        shown = answered(operator, path, "Answer 2")
        no_markup(shown)
        assert "frame-src 'self'" in operator.get(path).headers["content-security-policy"]
        frame = re.search(r'<iframe sandbox src="([^"]+)"', shown)
        assert frame is not None
        inside = operator.get(html.unescape(frame[1]))
        no_markup(inside.text)
        policy = inside.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "; sandbox;" in policy
        assert "script" not in policy
        assert operator.get("/chat/canvas/ffffffff").status_code == 404

    def test_sub_agents_stand_below(self, operator: Browser, path: str) -> None:
        say(operator, path, "please spawn")
        answered(operator, path, "Answer 2")
        tree = operator.get(path).text
        own = tree[tree.index(f'href="{path}"') :]
        assert own.index("<ul>") < own.index("Sub-agent") < own.index("</ul>")


class TestFiles:
    def send(self, browser: Browser, path: str, *files: tuple[str, bytes], text: str = "") -> httpx2.Response:
        fields = {"form_key": browser.form_key, "text": text, "once": ""}
        return browser.request(
            "POST", f"{path}/messages", data=fields, files=[("files", each) for each in files]
        )

    def test_pictures_and_texts(self, operator: Browser, path: str) -> None:
        name = "<img src=x onerror=alert(1)>.txt"
        sent = self.send(operator, path, ("a.png", png()), (name, EVIL.encode()), text="Look")
        assert sent.status_code == 303
        shown = answered(operator, path, "Answer 1")
        no_markup(shown)
        assert '<details class="file">' in shown
        picture = re.search(r'<img src="(/chat/media/[0-9a-f]{64})" alt="a.png"', shown)
        assert picture is not None
        kept = operator.get(picture[1])
        assert (kept.content, kept.headers["content-type"]) == (png(), "image/png")
        assert "sandbox" in kept.headers["content-security-policy"]

    def test_what_cannot_go_along(self, operator: Browser, path: str) -> None:
        told = self.send(operator, path, ("x.bin", b"\xff\x00\x01"), text="My words")
        assert "x.bin cannot be sent" in told.text
        assert ">My words</textarea>" in told.text, "what was typed is still there"
        assert "takes no files" in self.send(operator, path, ("a.txt", b"a"), text="/new").text
        assert "Nothing was said here yet" in operator.get(path).text

    def test_a_large_picture_of_whoever_is_signed_in(self, operator: Browser, path: str) -> None:
        large = png()[:-12] + chunk(b"tEXt", b"\0" * 1_500_000) + png()[-12:]
        assert self.send(operator, path, ("large.png", large)).status_code == 303
        assert "large.png" in answered(operator, path, "Answer 1")
        assert self.send(operator, path, ("large.png", large * 8)).status_code == 413
        stranger = {"files": [("files", ("large.png", large))], "data": {"text": "x"}}
        assert Browser(operator.gateway).request("POST", f"{path}/messages", **stranger).status_code == 413


class TestRoles:
    @pytest.mark.parametrize("role", ["viewer", "approver"])
    def test_who_may_not_talk(self, talking: Running, path: str, role: str) -> None:
        reader = signed_in(talking, role)
        assert "not talk" in reader.get(path).text
        for action in ("messages", "stop", "reset"):
            assert reader.post(f"{path}/{action}", text="Hello").status_code == 403
        assert reader.post("/chat/new", **{"with": "main"}).status_code == 403

    def test_a_form_of_another_site(self, operator: Browser, path: str) -> None:
        for more in ({"data": {"text": "Hello"}}, {"data": {"text": "x"}, "files": [("files", ("a", b"a"))]}):
            assert operator.request("POST", f"{path}/messages", **more).status_code == 403


class TestAnOpenPage:
    def test_is_told_everything_once_and_goes_on_after_a_cut(self, operator: Browser, path: str) -> None:
        say(operator, path, "First")
        answered(operator, path, "Answer 1")
        seen = self.items(told(operator, path), until="Answer 1")
        assert [number for number, _ in seen] == ["1", "2"]
        say(operator, path, "Second")
        answered(operator, path, "Answer 2")
        seen = self.items(told(operator, path, last_event_id="2"), until="Answer 2")
        assert [number for number, _ in seen] == ["3", "4"]
        for _, part in seen:
            no_markup(part)

    def items(self, events: Iterator[tuple[str, str, str]], until: str) -> list[tuple[str, str]]:
        found = []
        for number, kind, part in events:
            if kind == "item":
                found.append((number, part))
            if found and until in found[-1][1]:
                return found
        raise AssertionError("the stream ended")

    def test_loads_again_when_the_conversation_began_anew(self, operator: Browser, path: str) -> None:
        say(operator, path, "First")
        answered(operator, path, "Answer 1")
        assert any(kind == "reload" for _, kind, _ in told(operator, path, transcript="another"))

    def test_is_told_what_became_of_a_message(self, operator: Browser, path: str) -> None:
        fields = {"form_key": operator.form_key, "text": "please hurry", "once": "a"}
        first = operator.request("POST", f"{path}/messages", data=fields, headers={"HX-Request": "true"})
        assert "chat-sent" in first.headers["hx-trigger"]
        again = fields | {"text": "and this", "once": "b"}
        second = operator.request("POST", f"{path}/messages", data=again, headers={"HX-Request": "true"})
        assert "The turn at work reads it before its next step" in second.text
        assert "<html" not in second.text
