"""The order in the main session: what an earlier run has to tell is there before the next turn begins.

Nobody sends the outbox in these tests, so the order cannot come from a quick sender."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from colleague.config import load_settings
from colleague.experts.delivery.main_arrival import MainArrival
from colleague.experts.install import install_expert
from colleague.experts.registry import set_enabled
from colleague.packages.source import Source
from colleague.plugins.enabling import enable_plugin
from colleague.store.outbox import OutboxMessage, outbox_of
from colleague.store.run import get_run
from tests.integration.experts.package import CLERK, Package, process
from tests.integration.sessions.room import House, Room, acting, house
from tests.office import finished

ORDER = {"name": "order", "type": "webhook", "process": "work", "session": "main"}
BOOKED = "Order 7 is booked."
PLUGIN = """
def register(api):
    async def sending(event):
        if event.kind == "delivery":
            {does}
    api.on("message_sending", sending, required=True)
"""


def home_with_clerk(tmp_path: Path, experts: dict[str, Any], *replies: dict[str, Any], **head: Any) -> House:
    place = house(tmp_path, experts=experts)
    package = Package(files={"processes/work.md": process(**head)}, manifest={"triggers": [ORDER]})
    source = Source("folder", str(package.write(tmp_path / "source")))
    install_expert(place.home, place.folder / "workspace", source, name=CLERK, progress=lambda _: None)
    (place.folder / "clerk.yaml").write_text(json.dumps({"replies": list(replies)}))
    (place.home.expert(CLERK) / "bindings.yaml").write_text(json.dumps({"model": "script/clerk.yaml"}))
    set_enabled(place.home, CLERK, enabled=True)
    return place


async def order_then_message(room: Room) -> list[OutboxMessage]:
    """Somebody writes while the run of the trigger has the lane; returns what the run has to tell."""
    fired = await room.service.fire(CLERK, "order", {"id": "7"})
    sent = await room.send("And the order?", queue_mode="queue")
    assert sent.queued == "queued"
    async with replace(room.host, sender=None).working():
        async with asyncio.timeout(240):
            while "Noted." not in [text for _, text in await room.texts()]:
                await asyncio.sleep(0.02)
    return await room.database.read(lambda tx: outbox_of(tx, str(fired.run_id)))


def test_the_result_is_there_before_the_next_turn(tmp_path: Path, experts: dict[str, Any]) -> None:
    async def acts(room: Room) -> None:
        [message] = await order_then_message(room)
        event, *rest = await room.texts()
        assert event[0] == "event"
        assert BOOKED in event[1]
        assert rest == [("user", "And the order?"), ("assistant", "Noted.")]
        assert BOOKED in room.told()[0]
        assert (message.status, message.error) == ("sent", None), "it was read here"
        await room.host.deliver()
        assert await room.texts() == [event, *rest], "it is told once"

    acting(home_with_clerk(tmp_path, experts, finished(BOOKED)), acts)


def test_why_there_is_no_result_is_there_before_the_next_turn(
    tmp_path: Path, experts: dict[str, Any]
) -> None:
    async def acts(room: Room) -> None:
        await order_then_message(room)
        event, *rest = await room.texts()
        assert event[0] == "event"
        assert "escalation of clerk/work" in event[1]
        assert rest == [("user", "And the order?"), ("assistant", "Noted.")]

    once = {"retry": {"max_attempts": 1}, "on_failure": "escalate"}
    acting(home_with_clerk(tmp_path, experts, {"error": "not_found"}, execution=once), acts)


def test_that_it_is_late_is_told_with_its_end(tmp_path: Path, experts: dict[str, Any]) -> None:
    place = home_with_clerk(tmp_path, experts, finished(BOOKED), delivery={"sla": "1h"})

    async def acts(room: Room) -> None:
        fired = await room.service.fire(CLERK, "order", {"id": "7"})
        place.clock.move(seconds=7200)
        await room.database.write(lambda tx: MainArrival().arrive(tx, get_run(tx, str(fired.run_id))))
        [(role, text)] = await room.texts()
        assert role == "event"
        assert "no result after 3600 seconds" in text

    acting(place, acts)


def test_a_relayed_result_has_its_turn_before_the_next_message(
    tmp_path: Path, experts: dict[str, Any]
) -> None:
    async def acts(room: Room) -> None:
        await order_then_message(room)
        async with replace(room.host, sender=None).working(), asyncio.timeout(240):
            while len(await room.texts()) < 4:
                await asyncio.sleep(0.02)
        roles = [role for role, _ in await room.texts()]
        assert roles == ["event", "assistant", "user", "assistant"]

    acting(home_with_clerk(tmp_path, experts | {"mainTurn": "relay"}, finished(BOOKED)), acts)


@pytest.mark.parametrize(
    ("does", "status", "told"),
    [
        ('return {"text": event.text + " (checked)"}', "sent", f"{BOOKED} (checked)"),
        ('return {"cancel": True, "reason": "it names a number"}', "cancelled", ""),
        ('raise ValueError("out of order")', "waiting", ""),
    ],
)
def test_plugins_are_asked_first_and_hold_nobody_up(
    tmp_path: Path, does: str, status: str, told: str
) -> None:
    place = home_with_clerk(tmp_path, {}, finished(BOOKED))
    folder = place.folder / "plugins" / "checker"
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(PLUGIN.format(does=does))
    assert asyncio.run(enable_plugin(place.home, load_settings(place.home), place.environ, "checker")) == ""

    async def acts(room: Room) -> None:
        [message] = await order_then_message(room)
        assert message.status == status
        items = await room.texts()
        assert items[-2:] == [("user", "And the order?"), ("assistant", "Noted.")]
        assert [told in text for _, text in items[:-2]] == ([True] if told else [])

    acting(place, acts)
