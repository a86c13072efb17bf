"""Triggers that cannot work: each says why and what to do, and those that can say nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from colleague.config import load_settings
from colleague.experts.expert import find_expert
from colleague.experts.registry import Record, write_record
from colleague.home import Home
from colleague.packages.trigger import LOOKUPS
from colleague.triggers.problems import trigger_problems
from colleague.triggers.registry import bind_triggers
from tests.integration.experts.package import CLERK, Package, process, text
from tests.integration.triggers.desk import cron, webhook

ENVIRON = {"SECRET": "hunter2hunter2", "EMPTY": "", "GATEWAY": "the-gateways"}
GMAIL = webhook("mail", preset="gmail")
CHANNEL = {"name": "told", "type": "channel", "process": "work"}
EMAIL = {"name": "email", "operations": [{"name": name} for name in LOOKUPS]}
PUBSUB = {"pubsub": {"audience": "https://x.example", "serviceAccount": "push@x.example"}}
SERVERS = {"servers": {"post": {"command": "true"}, "off": {"command": "true", "enabled": False}}}


class Desk:
    """One home with one clerk."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        root.mkdir()
        self.settings()

    def settings(self, **settings: Any) -> None:
        self.home.settings_file.write_text(json.dumps(settings))

    def codes(self, trigger: dict[str, Any], binding: dict[str, Any] | None = None, **more: Any) -> list[str]:
        delivery, escalation = more.pop("delivery", {}), more.pop("escalation", {})
        tools, policy = more.pop("tools", {}), more.pop("tiers", {})
        package = Package(
            files={
                "processes/work.md": process(inputs=[text("id", required=False)], delivery=delivery),
                **(
                    {"tools/email.yaml": json.dumps(EMAIL)}
                    if tools is not None and more.get("required")
                    else {}
                ),
            },
            manifest={
                "triggers": [trigger],
                "requires": {"tools": ["email"] if more.get("required") else []},
                "policy": {"escalation": escalation, "approval": {"default": "auto", "overrides": policy}},
            },
        )
        folder = package.write(self.home.expert(CLERK))
        bindings = {
            "triggers": {trigger["name"]: binding} if binding is not None else {},
            "tools": tools or {},
        }
        (folder / "bindings.yaml").write_text(json.dumps(bindings))
        write_record(self.home, CLERK, Record(enabled=True))
        [bound] = bind_triggers(find_expert(self.home, CLERK))
        found = trigger_problems(bound, load_settings(self.home), ENVIRON, more.pop("channels", ()))
        for each in found:
            assert each.message, each
            assert each.cure, each
            assert (each.at.file, each.at.line > 0) in {
                (name, True) for name in ("expert.yaml", "bindings.yaml", "processes/work.md")
            }, each
            assert "hunter2" not in f"{each}"
        return [each.code for each in found]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "home")


class TestSecrets:
    def test_without_any(self, desk: Desk) -> None:
        for binding in (None, {}, {"max_queued": 3}):
            assert desk.codes(webhook(), binding) == ["trigger-secret-missing"], binding

    @pytest.mark.parametrize(
        ("secret", "code"),
        [
            ("${SECRET}", ""),
            (["${SECRET}"], ""),
            ("plain text", ""),
            ("${UNSET:-fallback}", ""),
            ("${UNSET}", "trigger-secret-unset"),
            ("${EMPTY}", "trigger-secret-unset"),
            (["${SECRET}", "${UNSET}"], "trigger-secret-unset"),
            ("", "trigger-secret-unusable"),
            ("  ", "trigger-secret-unusable"),
            ("${GATEWAY}", "trigger-secret-unusable"),
        ],
    )
    def test_of_its_own(self, desk: Desk, secret: Any, code: str) -> None:
        desk.settings(gateway={"auth": {"token": "${GATEWAY}"}})
        assert desk.codes(webhook(), {"secret": secret}) == ([code] if code else [])

    def test_one_that_no_signature_can_fit(self, desk: Desk) -> None:
        binding = {"secret": "whsec_***", "signature": "standard-webhooks"}
        assert desk.codes(webhook(), binding) == ["trigger-secret-unusable"]

    @pytest.mark.parametrize(
        ("token", "code"),
        [("${SECRET}", ""), ("${UNSET}", "trigger-secret-unset"), ("${EMPTY}", "trigger-secret-unset")],
    )
    def test_the_one_of_all_hooks(self, desk: Desk, token: str, code: str) -> None:
        desk.settings(hooks={"token": token})
        assert desk.codes(webhook()) == ([code] if code else [])

    def test_a_schedule_needs_none(self, desk: Desk) -> None:
        assert desk.codes(cron("0 8 * * *")) == []


class TestMail:
    def test_googles_word_is_a_secret_too(self, desk: Desk) -> None:
        desk.settings(hooks=PUBSUB, mcp=SERVERS)
        assert desk.codes(GMAIL, required=True, tools={"email": "post"}) == []
        assert desk.codes(webhook(), required=True, tools={"email": "post"}) == ["trigger-secret-missing"]

    @pytest.mark.parametrize(
        "binding", [{"email": "gone"}, {"email": "off"}, {"email": {"type": "skill", "server": "post"}}]
    )
    def test_a_mailbox_that_nobody_can_ask(self, desk: Desk, binding: dict[str, Any]) -> None:
        desk.settings(hooks=PUBSUB, mcp=SERVERS)
        assert desk.codes(GMAIL, required=True, tools=binding) == ["trigger-mail-lookup"]

    def test_a_mailbox_that_is_not_bound(self, desk: Desk) -> None:
        desk.settings(hooks={"token": "${SECRET}"})
        assert desk.codes(GMAIL, required=True) == ["trigger-mail-lookup"]
        assert desk.codes(GMAIL) == [], "messages come whole, and nobody planned for pushes"
        desk.settings(hooks=PUBSUB)
        assert desk.codes(GMAIL) == ["trigger-mail-lookup"]

    def test_an_operation_that_asks_a_person(self, desk: Desk) -> None:
        desk.settings(hooks=PUBSUB, mcp=SERVERS)
        ask = dict.fromkeys((f"email.{name}" for name in LOOKUPS), "confirm")
        assert desk.codes(GMAIL, required=True, tools={"email": "post"}, tiers=ask) == ["trigger-mail-lookup"]
        del ask["email.list_messages"]
        assert desk.codes(GMAIL, required=True, tools={"email": "post"}, tiers=ask) == []


class TestChannels:
    def test_messages_that_nobody_brings(self, desk: Desk) -> None:
        for binding in (None, {}, {"channel": "slack"}, {"channel": "Telegram"}):
            assert desk.codes(CHANNEL, binding) == ["trigger-channel-unconnected"], binding
        assert desk.codes(CHANNEL, {"channel": "sales-*"}) == []

    def test_results_that_reach_nobody(self, desk: Desk) -> None:
        tick = cron("0 8 * * *")
        assert desk.codes(tick, delivery={"channel": "slack"}) == ["delivery-channel-unconnected"]
        assert desk.codes(tick, escalation={"channel": "discord"}) == ["delivery-channel-unconnected"]
        assert desk.codes(tick, delivery={"channel": "main"}) == []

    def test_channels_of_plugins_are_connected(self, desk: Desk) -> None:
        tick, pager = cron("0 8 * * *"), {"channels": {"slack"}}
        assert desk.codes(tick, delivery={"channel": "slack"}, escalation={"channel": "slack"}, **pager) == []
        assert desk.codes(tick, delivery={"channel": "discord"}, **pager) == ["delivery-channel-unconnected"]
        assert desk.codes(CHANNEL, {"channel": "slack"}, **pager) == []
        assert desk.codes(CHANNEL, None, **pager) == [], "without a filter it is woken by every channel"
        assert desk.codes(CHANNEL, None, channels={"main"}) == ["trigger-channel-unconnected"]

    def test_everything_at_once(self, desk: Desk) -> None:
        found = desk.codes(webhook(requires_tool="crm"), delivery={"channel": "slack"})
        assert found == ["trigger-inactive", "trigger-secret-missing", "delivery-channel-unconnected"]
