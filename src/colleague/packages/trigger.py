"""What wakes an expert: a webhook, a schedule, or a message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, cast

from colleague.packages.concurrency import Concurrency, read_concurrency
from colleague.packages.cron import Cron, check_zone, parse_cron
from colleague.packages.fields import Fields
from colleague.packages.finding import Findings
from colleague.packages.nodes import Node
from colleague.packages.parsed import Parsed
from colleague.packages.payload_path import PayloadPath, parse_payload_path

TriggerType = Literal["webhook", "cron", "channel"]
SessionKind = Literal["isolated", "main"]
TYPES: tuple[TriggerType, ...] = ("webhook", "cron", "channel")
PRESETS = ("gmail",)
HISTORY = ("list_history", "get_history")
LISTING = ("list_messages",)
LOOKUPS = (*HISTORY, *LISTING)
"""Operations that the gmail preset asks the mail tool for; no package has to name them."""


@dataclass(frozen=True)
class Trigger(Parsed):
    """One entry of `triggers`, with what it inherits."""

    name: str
    type: TriggerType
    process: str
    preset: str = ""
    requires_tool: str = ""
    cron: Cron | None = None
    dedupe_key: PayloadPath | None = None
    session: SessionKind = "isolated"
    concurrency: Concurrency = Concurrency()
    payload_mapping: dict[str, PayloadPath] = field(default_factory=dict)
    description: str = ""

    @property
    def matches(self) -> tuple[str, ...]:
        """What wakes which process in which session."""
        return self.handler, self.type, self.preset, self.requires_tool, self.session, self.process

    @property
    def mail_tool(self) -> str:
        """The tool that is asked for mail which is only announced; empty for other triggers."""
        return (self.requires_tool or "email") if self.preset == "gmail" else ""

    @property
    def handler(self) -> str:
        """How people see where it comes from: `webhook/gmail`, `cron: 0 8 * * 1-5 UTC`."""
        if self.cron:
            return f"cron: {self.cron.text} {self.cron.zone}"
        source = self.preset or self.requires_tool
        return f"{self.type}/{source}" if source else self.type


def asked_operations(triggers: Iterable[Trigger], tool: str) -> tuple[str, ...]:
    """What the presets of these triggers ask of a tool, whether or not the package names it."""
    return LOOKUPS if any(trigger.mail_tool == tool for trigger in triggers) else ()


def read_trigger(node: Node, inherited: Concurrency, findings: Findings) -> Trigger | None:
    fields = Fields(node, "a trigger", findings, node.mark)
    if fields.node is None:
        return None
    name = fields.required_text("name")
    process = fields.required_text("process")
    if not fields.has("type"):
        fields.required_text("type")
    kind = cast(TriggerType, fields.choice("type", TYPES, "webhook"))
    trigger = Trigger(
        at=node.mark,
        node=node,
        name=name,
        type=kind,
        process=process,
        preset=_read_preset(fields),
        requires_tool=fields.text("requires_tool"),
        cron=_read_cron(fields, kind),
        dedupe_key=fields.parsed("dedupe_key", parse_payload_path, "payload-path-invalid"),
        session=cast(SessionKind, fields.choice("session", ("isolated", "main"), "isolated")),
        concurrency=_read_concurrency(fields, inherited),
        payload_mapping=_read_mapping(fields),
        description=fields.text("description"),
    )
    fields.finish()
    return trigger if name else None


def _read_preset(fields: Fields) -> str:
    preset = fields.text("preset")
    if preset and preset not in PRESETS:
        message = f"preset {preset[:60]!r} is not known here, so this trigger stays inactive"
        fields.findings.add("preset-unknown", fields.mark("preset"), message, f"known: {', '.join(PRESETS)}")
    return preset


def _read_cron(fields: Fields, kind: TriggerType) -> Cron | None:
    zone = fields.text("tz", "UTC")
    try:
        check_zone(zone) if zone != "UTC" else None
    except ValueError as error:
        fields.findings.add("timezone-unknown", fields.mark("tz"), f"tz: {error}")
        zone = "UTC"
    if kind != "cron":
        fields.ignore("expr")
        return None
    if not fields.has("expr"):
        hint = 'add expr: "0 8 * * 1-5"'
        fields.findings.add("trigger-expr-missing", fields.at, "a cron trigger needs expr", hint)
        return None
    cron = fields.parsed("expr", lambda text: parse_cron(text, zone), "cron-invalid")
    if cron and not cron.fires:
        message = f"{cron.text!r} matches no date, so this trigger never fires"
        fields.findings.add("cron-never-fires", fields.mark("expr"), message, "check day and month")
    return cron


def _read_concurrency(fields: Fields, inherited: Concurrency) -> Concurrency:
    concurrency = read_concurrency(fields, "concurrency", "concurrency_key", inherited)
    if concurrency.mode == "serial_per_key" and concurrency.key is None:
        message = "serial_per_key without a key: every run falls back to serial"
        at = fields.mark("concurrency")
        fields.findings.add("concurrency-key-missing", at, message, "add concurrency_key, or concurrency.key")
    return concurrency


def _read_mapping(fields: Fields) -> dict[str, PayloadPath]:
    inner = fields.child("payload_mapping")
    paths: dict[str, PayloadPath] = {}
    for name in inner.node.entries if inner.node else ():
        path = inner.parsed(name, parse_payload_path, "payload-path-invalid")
        if path:
            paths[name] = path
    return paths
