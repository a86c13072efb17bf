"""What agents plan for themselves: each time once, missed ones with a reason, listed like triggers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.integration.sessions.room import MAIN, MINUTE, START, Room, acting, house

PLAN = "plan it"


def cron(**arguments: Any) -> dict[str, Any]:
    return {"when": "/^plan it/", "calls": [{"operation": "cron", "arguments": arguments}]}


async def planned(room: Room) -> str:
    """Lets the agent plan; what the tool said."""
    await room.say(PLAN)
    [*_, item] = [item for item in await room.items() if item["calls"]]
    return str(item["calls"][-1]["result"])


def test_a_reminder_becomes_a_turn_at_its_time_and_once(tmp_path: Path) -> None:
    place = house(tmp_path, cron(action="add", at="2026-03-02T10:00", message="Call Ada.", label="Call Ada"))

    async def acts(room: Room) -> None:
        assert "'call-ada', next at 2026-03-02T09:00:00+00:00" in await planned(room)
        [listed] = await room.schedules()
        assert (listed["expert"], listed["trigger"], listed["state"]) == ("agent:main", "call-ada", "active")
        assert listed["next_at"] == "2026-03-02T09:00:00+00:00"
        assert await room.tick() == 0
        place.clock.move(seconds=3600)
        assert [await room.tick() for _ in range(3)] == [1, 0, 0]
        [run] = await room.work_all()
        assert (run.outcome, run.session_key) == ("completed", MAIN)
        assert ("event", "Call Ada.") in await room.texts()
        assert '<data source="reminder:call-ada">' in room.told()[-1]
        assert "not a message of a person" in room.told()[-1]
        assert await room.schedules() == []

    acting(place, acts)


def test_a_reminder_that_could_not_come_in_time_comes_late_and_says_so(tmp_path: Path) -> None:
    place = house(tmp_path, cron(action="add", at="2026-03-02T10:00", message="Call Ada."))
    acting(place, planned_in)
    place.clock.move(days=40)

    async def acts(room: Room) -> None:
        assert await room.tick() == 1
        await room.work_all()
        [text] = [text for role, text in await room.texts() if role == "event"]
        assert text.startswith("Call Ada.")
        assert "due at 2026-03-02T09:00:00+00:00" in text

    acting(place, acts)


async def planned_in(room: Room) -> None:
    await planned(room)


def test_missed_times_of_a_schedule_leave_rows_and_the_newest_comes_late(tmp_path: Path) -> None:
    place = house(tmp_path, cron(action="add", schedule="0 * * * *", message="Look.", tz="UTC"))
    acting(place, planned_in)
    place.clock.move(seconds=5 * 3600 + 60)

    async def acts(room: Room) -> None:
        assert await room.tick() == 1
        reasons = [reason for _, reason in await room.settled()]
        assert reasons == ["missed: nothing ran at that time"] * 4 + [None]
        [listed] = await room.schedules()
        assert listed["next_at"] == "2026-03-02T14:00:00+00:00"

    acting(place, acts)


def test_two_processes_that_look_at_once_say_it_once(tmp_path: Path) -> None:
    place = house(tmp_path, cron(action="add", every="1m", message="Look."))

    async def acts(room: Room) -> None:
        await planned(room)
        for _ in range(3):
            place.clock.move(seconds=60)
            assert sum(await asyncio.gather(*(room.tick() for _ in range(4)))) == 1
        assert [slot - START for slot, _ in await room.settled()] == [MINUTE, 2 * MINUTE, 3 * MINUTE]

    acting(place, acts)


def test_a_paused_reminder_skips_its_times_and_goes_on(tmp_path: Path) -> None:
    place = house(tmp_path, cron(action="add", every="1h", message="Look.", label="look"))

    async def acts(room: Room) -> None:
        await planned(room)
        assert await room.service.pause("agent:main", "look", "ann")
        assert not await room.service.pause("agent:main", "look", "ann")
        [listed] = await room.schedules()
        assert (listed["state"], listed["paused_by"], listed["next_at"]) == ("paused", "ann", None)
        place.clock.move(seconds=3600)
        assert await room.tick() == 0
        assert await room.service.resume("agent:main", "look") == 0
        assert await room.service.resume("agent:main", "look") is None
        place.clock.move(seconds=3600)
        assert await room.tick() == 1
        assert [reason for _, reason in await room.settled()] == ["paused", None]
        fired = await room.service.fire("agent:main", "look", {})
        assert fired.event_id
        assert not fired.duplicate

    acting(place, acts)


def test_the_agent_lists_pauses_resumes_runs_and_removes(tmp_path: Path) -> None:
    names = ("list", "pause", "resume", "run", "remove")
    told = [
        {
            "when": f"/^do {name}$/",
            "calls": [
                {
                    "operation": "cron",
                    "arguments": {"action": name} | ({"name": "Look!"} if name != "list" else {}),
                }
            ],
        }
        for name in names
    ]
    place = house(tmp_path, cron(action="add", every="1h", message="Look.", label="Look!"), *told)

    async def acts(room: Room) -> None:
        await planned(room)
        said = {}
        for name in names:
            await room.say(f"do {name}")
            [*_, item] = [item for item in await room.items() if item["calls"]]
            said[name] = str(item["calls"][-1]["result"])
            await room.work_all()
        assert '"when": "every 1h (Europe/Berlin)"' in said["list"]
        assert said["pause"] == "'look' is paused."
        assert said["resume"] == "'look' goes on."
        assert said["run"] == "'look' is said in agent:main:main now (queued)."
        assert said["remove"] == "'look' is removed."
        assert await room.schedules() == []
        assert ("event", "Look.") in await room.texts()

    acting(place, acts)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"message": "x"}, "0 times are given"),
        ({"message": "x", "at": "2026-03-03", "every": "1h"}, "2 times are given"),
        ({"message": "x", "at": "2020-01-01T00:00"}, "never comes from now on"),
        ({"message": "x", "at": "tomorrow"}, "is no ISO time"),
        ({"message": "x", "schedule": "61 * * * *"}, "is no cron expression"),
        ({"message": "x", "schedule": "*/10 * * * * *"}, "more often than once each minute"),
        ({"message": "x", "schedule": "0 0 30 2 *"}, "never comes from now on"),
        ({"message": "x", "every": "30s"}, "too often"),
        ({"message": "x", "every": "999999999d"}, "never comes from now on"),
        ({"message": "x", "every": "often"}, "is no duration"),
        ({"message": "x", "every": "1h", "tz": "Mars/Base"}, "is no IANA time zone"),
        ({"message": " ", "every": "1h"}, "message is empty"),
        ({"message": "x" * 9000, "every": "1h"}, "at most 8000"),
        ({"message": "x", "every": "1h", "label": "heartbeat"}, "already"),
        ({"message": "x", "every": "1h", "session": "agent:other:main"}, "of another agent"),
        ({"message": "x", "every": "1h", "session": "no such label"}, "no session"),
        ({"message": "x", "every": "1h", "session": "expert:sales"}, "cannot be reminded"),
    ],
)
def test_bad_input_is_an_error_the_agent_can_act_on(
    tmp_path: Path, arguments: dict[str, Any], problem: str
) -> None:
    place = house(tmp_path, cron(action="add", **arguments))

    async def acts(room: Room) -> None:
        assert problem in await planned(room)
        assert await room.schedules() == []

    acting(place, acts)


def test_a_label_is_used_once_and_there_are_at_most_a_hundred(tmp_path: Path) -> None:
    from colleague.store.reminders import count_reminders
    from colleague.triggers.reminders import Plan, plan

    place = house(tmp_path)

    async def acts(room: Room) -> None:
        def add(label: str, call: str) -> Plan:
            return Plan("main", MAIN, "Look.", "every", "1h", "UTC", label)

        for number in range(100):
            wanted = add(f"l{number}", "")
            await room.database.write(lambda tx, n=number, w=wanted: plan(tx, w, f"call-{n}"))
        again = await room.database.write(lambda tx: plan(tx, add("l1", ""), "call-1"))
        assert again.name == "l1", "the same call plans nothing twice"
        for label, problem in (("l2", "already"), ("new", "100 reminders")):
            with pytest.raises(Exception, match=problem):
                await room.database.write(lambda tx, label=label: plan(tx, add(label, ""), "another"))
        assert await room.database.read(lambda tx: count_reminders(tx, "main")) == 100

    acting(place, acts)


def test_a_clock_that_was_ahead_costs_no_reminder(tmp_path: Path) -> None:
    place = house(tmp_path, cron(action="add", every="1h", message="Look."))

    async def acts(room: Room) -> None:
        await planned(room)
        place.clock.move(days=30)
        await room.tick()
        place.clock.move(days=-30)
        await room.tick()
        [listed] = await room.schedules()
        assert listed["next_at"] == "2026-03-02T09:00:00+00:00"

    acting(place, acts)
