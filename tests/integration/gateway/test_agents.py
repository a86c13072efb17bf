"""Agents over HTTP and on the page, and who may write to them through a channel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.gateway.harness import House, Running
from tests.integration.gateway.test_page_chat import MAIN, signed_in
from tests.unit.pictures.samples import png

AGENTS = [
    {"id": "main", "identity": {"name": "Ada", "emoji": "🦉", "avatar": "me/ada.png"}},
    {"id": "fox", "identity": {"avatar": "🦊"}},
    {"id": "far", "identity": {"avatar": "https://example.com/me.png"}},
    {"id": "out", "workspace": "workspace", "identity": {"avatar": "../colleague.json"}},
    {"id": "text", "workspace": "workspace", "identity": {"avatar": "notes.png"}},
    {"id": "large", "workspace": "workspace", "identity": {"avatar": "large.png"}},
    {"id": "link", "workspace": "workspace", "identity": {"avatar": "link.png"}},
    {"id": "plain"},
]
CHANNELS = {
    "off": {"enabled": False},
    "chat": {"allowFrom": ["ann", 7], "groupPolicy": "allowlist", "groups": {"team": {}}},
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    house = House(tmp_path_factory.mktemp("agents") / "home").furnish()
    defaults = {"model": {"primary": "script/play.yaml"}}
    house.configure(agents={"defaults": defaults, "list": AGENTS}, channels=CHANNELS)
    workspace = house.home.workspace
    (workspace / "me").mkdir(parents=True)
    (workspace / "me/ada.png").write_bytes(png())
    (workspace / "notes.png").write_text("<script>alert(1)</script>")
    (workspace / "large.png").write_bytes(png() + b"x" * 1_000_000)
    (workspace / "link.png").symlink_to(house.home.settings_file)
    with house.open() as running:
        yield running


def test_each_agent_with_its_picture_or_why_it_has_none(gateway: Running) -> None:
    found = {each["id"]: each for each in gateway.get("/api/agents").json()}
    assert list(found) == [each["id"] for each in AGENTS]
    assert found["main"] == {
        "id": "main",
        "name": "Ada",
        "description": None,
        "emoji": "🦉",
        "avatar": "/api/agents/main/avatar",
        "avatar_problem": None,
    }
    assert (found["fox"]["emoji"], found["fox"]["avatar"]) == ("🦊", None)
    problems = {name: each["avatar_problem"] for name, each in found.items() if each["avatar_problem"]}
    assert set(problems) == {"far", "out", "text", "large", "link"}
    assert "is a web address, which is not fetched" in problems["far"]
    assert "has a .. in it" in problems["out"]
    assert "is not a picture that can be shown" in problems["text"]
    assert "1,000,000 is the most" in problems["large"]
    assert "is a link" in problems["link"]


def test_the_picture(gateway: Running) -> None:
    found = gateway.get("/api/agents/main/avatar")
    assert (found.content, found.headers["content-type"]) == (png(), "image/png")
    assert found.headers["x-content-type-options"] == "nosniff"
    for agent in ("far", "out", "text", "large", "link", "plain", "nobody"):
        refused = gateway.get(f"/api/agents/{agent}/avatar")
        assert (refused.status_code, "gateway" in refused.text) == (404, False), agent


def test_the_page_has_it_beside_the_name(gateway: Running) -> None:
    browser = signed_in(gateway)
    shown = browser.get(MAIN).text
    assert '<img class="avatar" src="/chat/avatar/main" alt="">' in shown
    assert "Ada · " in shown
    assert browser.get("/chat/avatar/main").content == png()
    assert gateway.client.get("/chat/avatar/main").status_code != 200
    made = browser.post("/chat/new", **{"with": "fox"}).headers["location"]
    assert '<span class="avatar">🦊</span>' in browser.get(made).text
    far = browser.post("/chat/new", **{"with": "far"}).headers["location"]
    assert "example.com" not in browser.get(far).text


@pytest.mark.parametrize(
    ("channel", "sender", "group", "why"),
    [
        ("off", "ann", "", "channels.off.enabled is false"),
        ("chat", "bob", "", "channels.chat.allowFrom does not have the sender 'bob'"),
        ("chat", "ann", "other", "the group 'other' is not listed"),
        ("chat", "7", "", ""),
        ("chat", "bob", "team", ""),
        ("any", "bob", "", ""),
    ],
)
def test_who_may_write_through_a_channel(
    gateway: Running, channel: str, sender: str, group: str, why: str
) -> None:
    message = {"sender_id": sender, "message_text": "Hello.", "conversation_id": group}
    told = gateway.post(f"/api/channels/{channel}/messages", message)
    assert told.status_code == (403 if why else 202)
    assert not why or told.json()["error"]["message"].endswith(why)
