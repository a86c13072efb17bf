"""bindings.yaml: what the user connects an expert to. Read here, edited in bind.py."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

from colleague.budget import Budget
from colleague.duration import Duration, parse_duration
from colleague.experts.safe_regex import Pattern, parse_pattern
from colleague.files import is_there
from colleague.packages.fields import Fields
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.mark import Mark
from colleague.packages.names import BINDINGS
from colleague.packages.nodes import Node, NodeError, Scalar, parse, plain
from colleague.packages.parsed import Parsed

BindingType = Literal["mcp", "skill"]
Signature = Literal["standard-webhooks", "github", "hmac-sha256", "bearer"]
PrivateEgress = Literal["filter", "ask"]
CatchUpPolicy = Literal["once", "all", "skip"]
EqualBodies = Literal["repeat", "distinct"]
ExpertSession = Literal["one-shot", "persistent"]

SIGNATURES: tuple[Signature, ...] = ("standard-webhooks", "github", "hmac-sha256", "bearer")

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_MOST_CHANNEL = 200


@dataclass(frozen=True)
class ToolBinding(Parsed):
    """`operations` maps abstract names to the server's; `repeatable` are safe to send twice; `reads` change
    nothing, whatever the server says."""

    type: BindingType
    server: str
    operations: dict[str, str] = field(default_factory=dict)
    repeatable: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class CatchUp:
    """What to do with the times a schedule missed while nothing ran."""

    window: Duration = parse_duration("1h")
    policy: CatchUpPolicy = "once"


@dataclass(frozen=True)
class HeaderNames:
    """Where a sender puts its signature (or token), the time of signing and its delivery id.

    Empty is the scheme's own place. A `timestamp` that is named must be sent, even where the scheme can do
    without."""

    signature: str = ""
    timestamp: str = ""
    delivery: str = ""


@dataclass(frozen=True)
class TriggerBinding(Parsed):
    """What the operator adds to a trigger: how its events are signed, kept apart and caught up, and which
    messages wake it.

    `secrets` are as written, `${NAME}` and all; any of them counts, so that one can be replaced by another.
    `equal_bodies` says what two equal bodies are where no time is signed: a repeat, or two events.
    `senders` None is anyone, () is nobody; no `channel` and no `pattern` is any."""

    secrets: tuple[str, ...] = field(default=(), repr=False)
    signature: Signature | None = None
    headers: HeaderNames = HeaderNames()
    tolerance: Duration = parse_duration("5m")
    dedupe_window: Duration | None = None
    equal_bodies: EqualBodies = "repeat"
    catch_up: CatchUp = CatchUp()
    max_queued: int | None = None
    channel: str = ""
    senders: tuple[str, ...] | None = None
    pattern: Pattern | None = None


@dataclass(frozen=True)
class Bindings:
    """Everything the user said about one expert."""

    tools: dict[str, ToolBinding] = field(default_factory=dict)
    triggers: dict[str, TriggerBinding] = field(default_factory=dict)
    run_budget: Budget = field(default_factory=Budget)
    day_budget: Budget = field(default_factory=Budget)
    model: str = ""
    model_at: Mark = field(default=Mark(BINDINGS), compare=False)
    private_egress: PrivateEgress | None = None
    """None is what the settings say."""
    session: ExpertSession = "one-shot"
    """Whether tasks in words stand by themselves, or are turns of one conversation."""


def read_bindings(file: Path, findings: Findings) -> Bindings:
    """The bindings in `file`; none at all when it does not exist."""
    if not is_there(file):
        return Bindings()
    text = PackageFolder(file.parent, findings).read(BINDINGS, Mark(BINDINGS))
    try:
        node = parse(text or "", BINDINGS)
    except NodeError as error:
        findings.add(error.code, error.at, error.message, error.hint)
        return Bindings()
    return _read(Fields(node, "bindings.yaml", findings, Mark(BINDINGS)))


def _read(fields: Fields) -> Bindings:
    tools = {name: _read_tool(name, node, fields.findings) for name, node, _ in fields.entries("tools")}
    budget = fields.child("budget")
    bindings = Bindings(
        tools={name: tool for name, tool in tools.items() if tool is not None},
        triggers={name: _read_trigger(node, fields.findings) for name, node, _ in fields.entries("triggers")},
        run_budget=_read_budget(budget.child("run")),
        day_budget=_read_budget(budget.child("day")),
        model=fields.text("model"),
        model_at=fields.mark("model"),
        private_egress=_read_egress(fields),
        session=cast(ExpertSession, fields.choice("session", ("one-shot", "persistent"), "one-shot")),
    )
    budget.finish()
    fields.finish()
    return bindings


def _read_egress(fields: Fields) -> PrivateEgress | None:
    """What cannot be read asks."""
    if not fields.has("private_egress"):
        return None
    return cast(PrivateEgress, fields.choice("private_egress", ("filter", "ask"), "ask"))


def _read_tool(name: str, node: Node, findings: Findings) -> ToolBinding | None:
    """The long form, or the short one: `crm: hubspot-mcp`."""
    if isinstance(node, Scalar) and node.value is not None:
        return ToolBinding(type="mcp", server=node.text, at=node.mark, node=node)
    fields = Fields(node, f"the binding of {name}", findings, node.mark)
    kind = cast(BindingType, fields.choice("type", ("mcp", "skill"), "mcp"))
    target = fields.text("skill") if kind == "skill" and fields.has("skill") else ""
    binding = ToolBinding(
        at=node.mark,
        node=node,
        type=kind,
        server=target or fields.required_text("server"),
        operations={key: _text(value) for key, value, _ in fields.entries("operations")},
        repeatable=fields.texts("repeatable"),
        reads=fields.texts("reads"),
    )
    fields.finish()
    return binding if binding.server else None


def _text(node: Node) -> str:
    return node.text if isinstance(node, Scalar) else str(plain(node))


def _read_trigger(node: Node, findings: Findings) -> TriggerBinding:
    fields = Fields(node, "the binding of a trigger", findings, node.mark)
    signature = fields.choice("signature", SIGNATURES, "") if fields.has("signature") else ""
    limited = fields.has("max_queued")
    channel = fields.parsed("channel", _channel, "field-value")
    pattern = fields.parsed("pattern", parse_pattern, "field-value")
    trigger = TriggerBinding(
        at=node.mark,
        node=node,
        secrets=fields.texts("secret"),
        signature=cast(Signature, signature) if signature else None,
        headers=_read_headers(fields),
        tolerance=fields.duration("tolerance") or TriggerBinding.tolerance,
        dedupe_window=fields.duration("dedupe_window"),
        equal_bodies=cast(EqualBodies, fields.choice("equal_bodies", ("repeat", "distinct"), "repeat")),
        catch_up=_read_catch_up(fields.child("catch_up")),
        max_queued=fields.whole_number("max_queued", 1, least=1, most=1_000_000) if limited else None,
        channel=channel or "",
        senders=_read_senders(fields),
        pattern=pattern,
    )
    fields.finish()
    unreadable = (fields.has("channel") and channel is None) or (fields.has("pattern") and pattern is None)
    # A filter that cannot be read must not let everyone in.
    return replace(trigger, senders=()) if unreadable else trigger


def _read_headers(fields: Fields) -> HeaderNames:
    """The long form, or the short one with the signature's header alone: `header: X-Acme-Signature`."""
    if isinstance(fields.node.entries.get("header") if fields.node else None, Scalar):
        return HeaderNames(signature=fields.parsed("header", _header, "field-value") or "")
    inner = fields.child("header")
    names = {
        name: inner.parsed(name, _header, "field-value") or ""
        for name in ("signature", "timestamp", "delivery")
    }
    inner.finish()
    return HeaderNames(**names)


def _read_senders(fields: Fields) -> tuple[str, ...] | None:
    if not fields.has("sender"):
        return None
    senders = fields.texts("sender")
    if not senders:
        message = "sender names nobody, so no message wakes this trigger"
        fields.findings.add("field-value", fields.mark("sender"), message, "name someone, or remove sender")
    return senders


def _header(text: str) -> str:
    if _HEADER.fullmatch(text) is None:
        raise ValueError(f"{text[:60]!r} is no name of a header; write one such as X-Signature")
    return text


def _channel(text: str) -> str:
    if not 0 < len(text) <= _MOST_CHANNEL:
        raise ValueError(
            f"a channel is a name or a pattern such as sales-*, of 1 to {_MOST_CHANNEL} characters"
        )
    return text


def _read_catch_up(fields: Fields) -> CatchUp:
    catch_up = CatchUp(
        window=fields.duration("window") or CatchUp().window,
        policy=cast(CatchUpPolicy, fields.choice("policy", ("once", "all", "skip"), "once")),
    )
    fields.finish()
    return catch_up


def _read_budget(fields: Fields) -> Budget:
    cost = fields.parsed("cost", _money, "field-value")
    limit = Budget(
        tokens=_count(fields, "tokens"),
        cost=cost,
        tool_calls=_count(fields, "tool_calls"),
    )
    fields.finish()
    return limit


def _count(fields: Fields, name: str) -> int | None:
    return fields.whole_number(name, 1, least=1, most=10**12) if fields.has(name) else None


def _money(text: str) -> float:
    amount = float(text)
    if not 0 < amount < 1e9:
        raise ValueError(f"{text!r} is no amount of money; write one such as 5.00")
    return amount
