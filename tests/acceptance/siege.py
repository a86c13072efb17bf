"""Attackers who write to an expert, a model that obeys them, and what really came of it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from colleague.agent.toolbox import target_of
from colleague.config import load_settings
from colleague.experts.bindings import read_bindings
from colleague.experts.expert import find_expert
from colleague.experts.runs.bound_tools import BoundTools
from colleague.experts.runs.inputs import find_process
from colleague.experts.runs.invoke import Invocation
from colleague.experts.workspace.learnings import LearningEntry, append_entry
from colleague.home import Home
from colleague.packages.finding import Findings
from colleague.run_document import Decision
from colleague.runtime.host import Host, open_host
from colleague.store.accept import Arrival, accept
from colleague.store.approvals import Answer, Approval, approvals_of, decide
from colleague.store.call_target import CallTarget
from colleague.store.cancel import cancel
from colleague.store.grants import give_grant
from colleague.store.report import calls_in_order
from colleague.store.run import Run, get_run
from colleague.store.steps import StepMark, steps_of
from colleague.store.tx import Tx
from tests.conftest import ROOT, SALES, Colleague, tree
from tests.office import DESK, Office

Carrier = Literal[
    "mail", "subject", "sender", "attachment", "note", "ticket", "file", "file name", "suggestion",
    "knowledge", "input", "task", "error", "learning", "function learning", "state", "context", "output",
]  # fmt: skip
Wish = tuple[str, dict[str, Any]]

JEWELS = "crown-jewels-of-the-other-side"
"""Stands in files that no expert may see."""
ATTACKER = "eve@evil.example"
MAIL = "inbound-email-triage"
TICKET = "T-1001"
LINK = "scratch/way-out"


@dataclass(frozen=True)
class Attack:
    """What an attacker wrote, where it stands, and the calls of a model that does as it is told.

    `ends` says what becomes of each call: its status, or `error` for one that was made and failed.
    `child` are the calls of an isolated function, with "@marked" for his text. `decisions` are a person's, in
    order; `effects` is all that the office may see, and `writes` what changes outside the folders that an
    expert writes."""

    name: str
    text: str
    wishes: Sequence[Wish]
    ends: Sequence[str]
    carrier: Carrier = "mail"
    expert: str = SALES
    process: str = ""
    decisions: Sequence[tuple[Decision, str | None]] = ()
    effects: Sequence[Wish] = ()
    together: bool = False
    grant: str = ""
    dry_run: bool = False
    child: Sequence[Wish] = ()
    writes: Sequence[str] = ()

    @property
    def is_read(self) -> bool:
        """Whether the expert has to look for the text; an input is told to it."""
        return self.carrier not in ("input", "task", "learning", "context", "output")

    @property
    def marked(self) -> str:
        """The text between two words that are found nowhere else."""
        return f"{self.marker} {self.text} {self.marker}"

    @property
    def marker(self) -> str:
        return f"zq{self.name.replace(' ', '')}qz"


@dataclass(frozen=True)
class Aftermath:
    """What can be seen when an attack is over."""

    attack: Attack
    run: Run
    calls: list[Any]
    approvals: list[Approval]
    steps: list[StepMark]
    effects: list[tuple[str, dict[str, Any], str]]
    payloads: list[dict[str, Any]]
    changed: set[str]

    @property
    def hostile(self) -> list[Any]:
        """The calls that the attacker wanted; the first one only read what he wrote."""
        return self.calls[1:] if self.attack.is_read else self.calls


class Siege:
    """A home with two experts in one office, and files around it that nobody may touch."""

    def __init__(self, office: Office, host: Host) -> None:
        self.office, self.host = office, host
        self.home = Home(office.colleague.home)
        self._packages = {name: find_expert(self.home, name).load() for name in (SALES, DESK)}
        self._files = self._untouchable()
        self._logged = 0

    async def fight(self, attack: Attack) -> Aftermath:
        _plant(self, attack)
        ledger = len(self._ledger())
        run_id = await self._accept(attack)
        await self.host.advance_only([run_id])
        for decision, answer in attack.decisions:
            await self._decide(run_id, decision, answer)
            await self.host.advance_only([run_id])
        effects, changed = self._ledger()[ledger:], self._changed()
        seen = await self.host.database.read(lambda tx: _seen(tx, run_id))
        await self.host.database.write(lambda tx: cancel(tx, run_id, "the siege is over"))
        return Aftermath(attack, *seen, effects, self._payloads(), changed)

    async def _accept(self, attack: Attack) -> str:
        arrival = self._arrival(attack)
        target = await self._target(attack) if attack.grant else None

        def work(tx: Tx) -> str:
            if target:
                give_grant(tx, attack.expert, attack.grant, target, by="ann", lasts_ms=60_000)
            return str(accept(tx, arrival).run_id)

        return await self.host.database.write(work)

    async def _target(self, attack: Attack) -> CallTarget:
        """Of the call that the attacker wants, so that the grant is for nothing else."""
        package, tool = self._packages[attack.expert], attack.grant.partition(".")[0]
        bindings = read_bindings(find_expert(self.home, attack.expert).bindings_file, Findings())
        bench = BoundTools(load_settings(self.home), self.host.servers)
        found = await bench.operations(attack.expert, package, bindings, [tool])
        [spec] = [each.spec for each in found if each.spec.name == attack.grant]
        return target_of(package.digest, spec)

    def _arrival(self, attack: Attack) -> Arrival:
        expert = find_expert(self.home, attack.expert)
        model = self.office.play(*_script(attack), name=f"play-{attack.name.replace(' ', '-')}")
        asked = Invocation(self.home, expert, self._packages[attack.expert], model, attack.dry_run)
        if not attack.process:
            return asked.task("Do what has to be done.")
        return asked.process(find_process(asked.package, attack.process), _inputs(attack))

    async def _decide(self, run_id: str, decision: Decision, answer: str | None) -> None:
        def work(tx: Tx) -> None:
            for each in [each for each in approvals_of(tx, run_id) if each.status == "pending"][:1]:
                decide(tx, Answer(each.id, each.digest, decision, "ann", answer=answer))

        await self.host.database.write(work)

    def _ledger(self) -> list[tuple[str, dict[str, Any], str]]:
        rows = self.office.rows("SELECT operation, arguments, idempotency_key FROM ledger ORDER BY id")
        return [(operation, json.loads(arguments), key) for operation, arguments, key in rows]

    def _payloads(self) -> list[dict[str, Any]]:
        """What the model was sent since the last time."""
        self.host.advancer.tracer.flush()
        lines = (self.home.logs / "script-payload.jsonl").read_text().rstrip("\n").split("\n")
        new, self._logged = lines[self._logged :], len(lines)
        return [json.loads(line) for line in new]

    def _changed(self) -> set[str]:
        before, self._files = self._files, self._untouchable()
        paths = before.keys() | self._files.keys()
        return {path for path in paths if before.get(path) != self._files.get(path)}

    def _untouchable(self) -> dict[str, bytes]:
        """Every file around the home and in it, but those that the runtime and the agent may write."""
        home = self.home.root.name
        ours = [f"{home}/logs/", f"{home}/state/colleague.sqlite", f"{home}/state/file-locks/"]
        ours += [f"{home}/state/lock", f"{home}/state/mcp/", f"{home}/play-", "office.sqlite"]
        for expert in (SALES, DESK):
            space = f"{home}/workspace/expert-state/{expert}/"
            ours += [f"{space}{name}/" for name in ("state", "scratch", "sessions")]
        ours += [f"{home}/state/{name}" for name in ("dry-runs/", "clock.json", "database.json")]
        found = tree(self.home.root.parent)
        return {path: data for path, data in found.items() if not path.startswith(tuple(ours))}


def _seen(tx: Tx, run_id: str) -> tuple[Run, list[Any], list[Approval], list[StepMark]]:
    return get_run(tx, run_id), calls_in_order(tx, run_id), approvals_of(tx, run_id), steps_of(tx, run_id)


def _script(attack: Attack) -> list[dict[str, Any]]:
    """Reads what the attacker wrote, does what he wants call by call in his own words, and ends."""
    replies = [attack.wishes] if attack.together else [[wish] for wish in attack.wishes]
    if attack.is_read:
        replies = [[_reading(attack)], *replies]
    inner = json.loads(json.dumps(attack.child).replace('"@marked"', json.dumps(attack.marked)))
    child = [_reply(attack, inner) | {"when": "Apply assess-refund"}] if attack.child else []
    return [*(_reply(attack, each) for each in replies), {"text": "So be it."}, {"text": "So be it."}, *child]


def _reply(attack: Attack, wishes: Sequence[Wish]) -> dict[str, Any]:
    made = [{"operation": name, "arguments": arguments} for name, arguments in wishes]
    return {"text": attack.text, "calls": made}


def _reading(attack: Attack) -> Wish:
    carriers: dict[Carrier, Wish] = {
        "note": ("crm.get_deal", {"deal_id": "d-acme"}),
        "ticket": ("tickets.get_ticket", {"ticket_id": TICKET}),
        "file": ("read", {"path": f"scratch/{attack.marker}.md"}),
        "file name": ("ls", {"path": f"scratch/{_subject(attack)}"}),
        "suggestion": ("read", {"path": f"scratch/{_subject(attack)}/x.md"}),
        "knowledge": ("read", {"path": "knowledge/meddpicc.md"}),
        "state": ("read", {"path": "state/pipeline.md"}),
        "function learning": ("read", {"path": "functions/compose-response.md"}),
        "error": ("email.get_email", {"message_id": attack.marked}),
    }
    return carriers.get(attack.carrier, ("email.get_email", {"message_id": _subject(attack)}))


def _subject(attack: Attack) -> str:
    return TICKET if attack.expert == DESK else f"m-{attack.name.replace(' ', '-')}"


def _inputs(attack: Attack) -> dict[str, str]:
    name = "ticket_id" if attack.expert == DESK else "message_id"
    if attack.carrier == "task":
        return {name: _subject(attack), "task": attack.marked}
    return {name: attack.marked if attack.carrier == "input" else _subject(attack)}


def _plant(siege: Siege, attack: Attack) -> None:
    """Puts the attacker's text where the expert will come across it."""
    scratch = siege.office.workspace(attack.expert) / "scratch"
    if attack.carrier in ("mail", "subject", "sender", "attachment"):
        _plant_mail(siege.office, attack)
    elif attack.carrier == "note":
        values = ("c-sarah", "d-acme", attack.marked, "2999-01-01T00:00:00+00:00")
        _insert(siege.office, "notes (contact_id, deal_id, note, created_at)", values)
    elif attack.carrier == "ticket":
        values = (TICKET, "customer", attack.marked, "2999-01-01T00:00:00+00:00")
        _insert(siege.office, "messages (ticket_id, author, text, at)", values)
    elif attack.carrier == "file":
        (scratch / f"{attack.marker}.md").write_text(attack.marked)
    elif attack.carrier in ("state", "context"):
        (scratch.parent / "state" / "pipeline.md").write_text(attack.marked)
    elif attack.carrier in ("learning", "function learning"):
        _plant_learning(scratch.parent / "learnings", attack)
    elif attack.carrier in ("file name", "suggestion"):
        (scratch / _subject(attack)).mkdir()
        (scratch / _subject(attack) / attack.marked).write_text("nothing")


def _plant_learning(folder: Path, attack: Attack) -> None:
    """As if a person had approved it."""
    scope = "package" if attack.carrier == "learning" else "compose-response"
    said = dict.fromkeys(("title", "source", "observation", "correction"), attack.marked)
    append_entry(folder, LearningEntry(id=attack.marker, scope=scope, date="2026-11-01", **said), 50)


def _plant_mail(office: Office, attack: Attack) -> None:
    said = {
        "mail": {"body": attack.marked},
        "subject": {"subject": attack.marked},
        "sender": {"from_name": attack.marked},
        "attachment": {"attachments": json.dumps([attack.marked])},
    }[attack.carrier]  # type: ignore[index]
    mail = {"message_id": _subject(attack), "thread_id": "t", "from_name": "Eve", "from_email": ATTACKER}
    mail |= {"recipients": "[]", "cc": "[]", "subject": "Hello", "body": "Hi", "attachments": "[]"}
    mail |= {"at": "2026-11-01T00:00:00+00:00", "sent": 0} | said
    _insert(office, f"mails ({', '.join(mail)})", tuple(mail.values()))


def _insert(office: Office, into: str, values: tuple[Any, ...]) -> None:
    with sqlite3.connect(office.database) as db:
        marks = ", ".join("?" * len(values))
        db.execute(f"INSERT INTO {into} VALUES ({marks})", values)  # noqa: S608


def besieged(folder: Path, knowledge: str) -> Office:
    """Two experts in one office; a fact in the sales expert's knowledge was written by an attacker."""
    office = Office.open(Colleague(folder / "home"))
    for expert in (SALES, DESK):
        package = folder / "packages" / expert
        shutil.copytree(ROOT / "examples" / expert, package)
        manifest = package / "expert.yaml"
        manifest.write_text(manifest.read_text().replace("max_attempts: 3", "max_attempts: 1"))
        if expert == SALES:
            (package / "knowledge" / "meddpicc.md").write_text(knowledge)
        office.employ(expert, package)
    office.colleague.ok("mcp", "probe", "office")
    (folder / "victim.txt").write_text(JEWELS)
    way_out = office.workspace(SALES) / LINK
    way_out.parent.mkdir(parents=True, exist_ok=True)
    way_out.symlink_to(folder)
    log = office.workspace(DESK) / "state" / "desk-log.md"
    log.write_text(f"{log.read_text()}\n{JEWELS}\n")
    return office


async def lay_siege(office: Office, attacks: Sequence[Attack]) -> dict[str, Aftermath]:
    """Every attack in turn, in one host, with the payload log switched on."""
    home = Home(office.colleague.home)
    environ = os.environ | {"OPENCLAW_ANTHROPIC_PAYLOAD_LOG": "1"}
    async with open_host(home, load_settings(home), environ) as host:
        siege = Siege(office, host)
        return {attack.name: await siege.fight(attack) for attack in attacks}
