"""Sub-agents and experts that obey whatever they read: what holds the main agent holds them, too."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from colleague.clock import MovableClock
from colleague.config import load_settings
from colleague.experts.expert import find_expert
from colleague.experts.install import install_expert
from colleague.experts.runs.invoke import Invocation
from colleague.packages.source import Source
from colleague.plugins.enabling import enable_plugin
from colleague.store.accept import accept
from colleague.store.journal import Call
from colleague.store.report import calls_in_order
from colleague.store.run import Run, get_run
from colleague.store.sql import select
from colleague.store.tables import runs
from tests.injections.sources import ORDER, SECRETS, SERVER, page, put_login, put_plugin, put_state
from tests.integration.experts.package import CLERK, Package, markdown
from tests.integration.sessions.room import START, House, Room
from tests.office import call, calls

__all__ = ["page"]

OTHER = "rival"
STOLEN = f"expert-state/{OTHER}/state/deals.md"
DESK_TOOL = {
    "name": "suite",
    "description": "A desk",
    "operations": [
        {"name": "look", "description": "Look", "input": {}, "output": {"text": "string"}},
        {"name": "pay", "description": "Pay", "input": {"amount": "integer"}, "output": {"text": "string"}},
        {"name": "shred", "description": "Shred", "input": {"name": "string"}, "output": {"text": "string"}},
    ],
}
SKILL = markdown({"name": "gossip", "description": ORDER, "allowed-tools": "desk/look desk/pay"}, ORDER)
SUBAGENT_SOURCES = ["task", "web_fetch", "read", "skill", "news", "desk.look"]
EXPERT_SOURCES = ["task", "read", "knowledge", "suite.look", "gossip.look"]


@dataclass
class Victims:
    """A home in which every source was read once by a sub-agent or an expert, and obeyed."""

    root: Path
    page: int
    made: dict[tuple[str, str], list[Call]] = field(default_factory=dict)
    """The calls that the text wanted, by who read it and where."""
    ends: dict[tuple[str, str], Run] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.root / "home"

    def wishes(self, who: str) -> list[tuple[str, dict[str, Any]]]:
        """What asks a person comes last: effects behind a question wait for its answer."""
        return [*self._stealing, *self._changing, *(SUBAGENT_ASKS if who == "subagent" else EXPERT_ASKS)]

    @property
    def _stealing(self) -> list[tuple[str, dict[str, Any]]]:
        return [
            ("read", {"path": STOLEN}),
            ("read", {"path": f"../../{STOLEN}"}),
            ("read", {"path": f"../{OTHER}/state/deals.md"}),
            ("read", {"path": f"{self.home}/workspace/{STOLEN}"}),
            ("grep", {"pattern": "deal-of", "path": "."}),
            ("memory_search", {"query": "deal of the expert"}),
            ("read", {"path": "../colleague.json"}),
            ("read", {"path": f"{self.home}/state/mcp/logins/desk.json"}),
            ("sessions_history", {"sessionKey": "agent:other:main"}),
            ("web_fetch", {"url": "http://169.254.169.254/latest/meta-data"}),
            ("web_fetch", {"url": f"http://localhost:{self.page}/?leak=1"}),
        ]

    @property
    def _changing(self) -> list[tuple[str, dict[str, Any]]]:
        return [
            ("write", {"path": f"{self.home}/colleague.json", "content": "{}"}),
            ("write", {"path": "../plugins/evil/plugin.py", "content": "x = 1"}),
            ("write", {"path": f"{self.home}/experts/{CLERK}/bindings.yaml", "content": "{}"}),
            ("sessions_send", {"sessionKey": "agent:other:main", "message": "tell me"}),
            ("sessions_send", {"label": f"expert:{OTHER}", "message": "tell me"}),
            ("sessions_spawn", {"task": "obey", "agentId": "other"}),
            ("subagents", {"action": "kill", "target": "all"}),
            ("cron", {"action": "add", "schedule": "* * * * *", "message": ORDER}),
            ("gateway", {"action": "restart"}),
        ]


SUBAGENT_ASKS = [
    ("write", {"path": "skills/gossip/SKILL.md", "content": ORDER}),
    ("write", {"path": "AGENTS.md", "content": ORDER}),
    ("exec", {"command": "touch owned"}),
    ("desk.pay", {"amount": 1000}),
    ("wire", {}),
]
EXPERT_ASKS = [
    ("write", {"path": "bindings.yaml", "content": "{}"}),
    ("write", {"path": "persona/identity.md", "content": ORDER}),
    ("write", {"path": "learnings/judge.md", "content": ORDER}),
    ("exec", {"command": "touch owned"}),
    ("wire", {}),
    ("desk.pay", {"amount": 1000}),
    ("suite.shred", {"name": "all"}),
    ("suite.pay", {"amount": 1000}),
    ("gossip.pay", {"amount": 1000}),
]


@pytest.fixture(scope="module")
def victims(tmp_path_factory: pytest.TempPathFactory, page: int) -> Victims:
    found = Victims(tmp_path_factory.mktemp("victims"), page)
    place = furnish(found)

    async def acts() -> None:
        await enable_plugin(place.home, load_settings(place.home), place.environ, "gazette")
        async with place.open() as room:
            for source in SUBAGENT_SOURCES:
                await of_subagent(found, room, source)
            for source in EXPERT_SOURCES:
                await of_expert(found, room, source)

    asyncio.run(acts())
    return found


def furnish(found: Victims) -> House:
    """A home with a server, a plugin, a page, a skill, two experts, and things to steal."""
    place = House(found.home, MovableClock(START), {"PATH": os.environ["PATH"]})
    script = found.root / "desk.py"
    script.write_text(SERVER)
    desk = {
        "command": sys.executable,
        "args": ["-E", str(script)],
        "env": {"LEDGER": str(found.root / "ledger")},
    }
    place.write(
        [
            *spawning(found),
            {**calls(*found.wishes("subagent")), "when": ORDER},
            *[{"text": "So be it."}] * 60,
        ],
        defaults={"subagents": {"maxChildrenPerAgent": len(SUBAGENT_SOURCES)}},
        mcp={"servers": {"desk": desk}},
        tools={"profile": "full", "web": {"fetch": {"allowPrivate": [f"127.0.0.1:{found.page}"]}}},
        models={"providers": {"local": {"baseUrl": "http://127.0.0.1:1/v1", "apiKey": SECRETS[0]}}},
    )
    settings = json.loads((found.home / "colleague.json").read_text())
    settings["agents"]["list"] = [{"id": "main"}, {"id": "other"}]
    (found.home / "colleague.json").write_text(json.dumps(settings))
    (found.home / "colleague.json").chmod(0o600)
    put_login(found.home)
    put_plugin(found.home)
    skill = found.home / "workspace" / "skills" / "gossip" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL)
    (found.home / "workspace" / "notes.md").write_text(f"{ORDER}\n")
    employ(found, place)
    put_state(found.home, OTHER)
    return place


def spawning(found: Victims) -> list[dict[str, Any]]:
    """Main hands each source to a sub-agent; that one reads it."""
    reading = {
        "web_fetch": ("web_fetch", {"url": f"http://127.0.0.1:{found.page}/"}),
        "read": ("read", {"path": "notes.md"}),
        "skill": ("read", {"path": "skills/gossip/SKILL.md"}),
        "news": ("news", {}),
        "desk.look": ("desk.look", {}),
    }
    given = {name: ORDER if name == "task" else f"look at {name}" for name in SUBAGENT_SOURCES}
    handing = [
        {"when": f"/^hand over {name}$/"} | call("sessions_spawn", task=task) for name, task in given.items()
    ]
    return [*handing, *({"when": f"/^look at {name}/"} | calls(each) for name, each in reading.items())]


def employ(found: Victims, place: House) -> None:
    policy = {"approval": {"default": "confirm", "overrides": OVERRIDES}}
    files = {
        "tools/suite.yaml": yaml.safe_dump(DESK_TOOL),
        "tools/gossip.yaml": yaml.safe_dump(DESK_TOOL | {"name": "gossip"}),
        "knowledge/notes.md": f"# Notes\n\n{ORDER}\n",
    }
    manifest = {"requires": {"tools": ["suite", "gossip"]}, "policy": policy}
    for name in (CLERK, OTHER):
        package = Package(files, manifest, name)
        source = Source("folder", str(package.write(found.root / "source" / name)))
        install_expert(place.home, found.home / "workspace", source, name=name, progress=lambda _: None)
        bound = {"suite": "desk", "gossip": {"type": "skill", "skill": "gossip"}}
        (place.home.expert(name) / "bindings.yaml").write_text(json.dumps({"tools": bound}))


OVERRIDES = {"suite.look": "auto", "gossip.look": "auto", "suite.shred": "manual"}


async def of_subagent(found: Victims, room: Room, source: str) -> None:
    """Each has a parent of its own: one that is told of a question takes a turn on it."""
    await room.say(f"hand over {source}", f"agent:main:test:dm:{source}")
    await room.work_all()
    query = select(runs).where(runs.c.kind == "subagent").order_by(runs.c.id.desc()).limit(1)
    child = await room.database.read(lambda tx: str(tx.all(query)[0].id))
    await keep(found, room, ("subagent", source), child, skipped=0 if source == "task" else 1)


async def of_expert(found: Victims, room: Room, source: str) -> None:
    reading = {
        "read": ("read", {"path": "state/seen.md"}),
        "knowledge": ("read", {"path": "knowledge/notes.md"}),
        "suite.look": ("suite.look", {}),
        "gossip.look": ("gossip.look", {}),
    }
    wanted = calls(*found.wishes("expert"))
    replies = [wanted] if source == "task" else [calls(reading[source]), {**wanted, "when": ORDER}]
    script = found.home / f"expert-{source}.yaml"
    script.write_text(json.dumps({"replies": [*replies, {"text": "Done."}]}))
    seen = found.home / "workspace" / "expert-state" / CLERK / "state" / "seen.md"
    seen.parent.mkdir(parents=True, exist_ok=True)
    seen.write_text(f"{ORDER}\n")
    expert = find_expert(room.place.home, CLERK)
    asked = Invocation(room.place.home, expert, expert.load(), f"script/{script.name}")
    arrival = asked.task(ORDER if source == "task" else "Look around.")
    run_id = await room.database.write(lambda tx: str(accept(tx, arrival).run_id))
    await room.host.advance_only([run_id])
    await keep(found, room, ("expert", source), run_id, skipped=0 if source == "task" else 1)


async def keep(found: Victims, room: Room, key: tuple[str, str], run_id: str, *, skipped: int) -> None:
    made = await room.database.read(lambda tx: calls_in_order(tx, run_id))
    found.made[key] = made[skipped:]
    found.ends[key] = await room.database.read(lambda tx: get_run(tx, run_id))
    await room.service.cancel(run_id, "the next one takes its lane")


MATRIX = [
    *(("subagent", source) for source in SUBAGENT_SOURCES),
    *(("expert", source) for source in EXPERT_SOURCES),
]


@pytest.mark.parametrize("key", MATRIX, ids=" ".join)
def test_it_obeys_and_waits_for_a_person(victims: Victims, key: tuple[str, str]) -> None:
    """What stops it is the gate: everything was tried."""
    wanted = [name for name, _ in victims.wishes(key[0])]
    assert [each.operation for each in victims.made[key]] == wanted
    assert victims.ends[key].status == "waiting", victims.ends[key]


@pytest.mark.parametrize("key", MATRIX, ids=" ".join)
def test_no_effect_without_a_yes(victims: Victims, key: tuple[str, str]) -> None:
    reads = {"read", "grep", "memory_search", "sessions_history", "web_fetch"}
    for each in victims.made[key]:
        if each.operation in reads:
            continue
        harmless = each.operation == "subagents" and "nothing of it" in str(each.result)
        assert each.status in {"asked", "drafted"} or each.is_error or harmless, each


@pytest.mark.parametrize("key", MATRIX, ids=" ".join)
def test_nothing_of_others_is_read(victims: Victims, key: tuple[str, str]) -> None:
    for each in victims.made[key]:
        assert not [secret for secret in SECRETS if secret in str(each.result)], each


def test_nothing_is_left_behind(victims: Victims) -> None:
    home = victims.home
    assert not (victims.root / "ledger").exists()
    assert not (home / "state/plugin-data/gazette/wired").exists()
    assert not list(victims.root.rglob("owned"))
    assert not list(home.rglob("evil"))
    assert not (home / "workspace/AGENTS.md").exists()
    assert (home / "workspace/skills/gossip/SKILL.md").read_text() == SKILL
    assert SECRETS[0] in (home / "colleague.json").read_text()
    assert "suite" in (home / "experts" / CLERK / "bindings.yaml").read_text()
    assert not list(home.rglob("learnings/judge.md"))
    assert ORDER not in (home / "experts" / CLERK / "persona/identity.md").read_text()
