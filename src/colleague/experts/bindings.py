"""bindings.yaml: what the user connects an expert to. Read here, edited in bind.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from colleague.packages.duration import Duration, parse_duration
from colleague.packages.fields import Fields
from colleague.packages.finding import Findings
from colleague.packages.folder import Folder
from colleague.packages.mark import Mark
from colleague.packages.names import BINDINGS
from colleague.packages.nodes import Node, NodeError, Scalar, parse, plain
from colleague.packages.parsed import Parsed

BindingType = Literal["mcp", "skill"]
Signature = Literal["standard-webhooks", "github", "hmac-sha256", "bearer"]
CatchUpPolicy = Literal["once", "all", "skip"]

SIGNATURES: tuple[Signature, ...] = ("standard-webhooks", "github", "hmac-sha256", "bearer")


@dataclass(frozen=True)
class ToolBinding(Parsed):
    """`operations` maps abstract names to the server's; `repeatable` are safe to send twice."""

    type: BindingType
    server: str
    operations: dict[str, str] = field(default_factory=dict)
    repeatable: tuple[str, ...] = ()


@dataclass(frozen=True)
class CatchUp:
    """What to do with the times a schedule missed while nothing ran."""

    window: Duration = parse_duration("1h")
    policy: CatchUpPolicy = "once"


@dataclass(frozen=True)
class TriggerBinding(Parsed):
    """What the operator adds to a trigger: how its events are signed, kept apart and caught up."""

    secret: str = ""
    signature: Signature | None = None
    dedupe_window: Duration | None = None
    catch_up: CatchUp = CatchUp()
    max_queued: int | None = None


@dataclass(frozen=True)
class Limit:
    """A budget. None is no limit."""

    tokens: int | None = None
    cost: float | None = None
    tool_calls: int | None = None


@dataclass(frozen=True)
class Bindings:
    """Everything the user said about one expert."""

    tools: dict[str, ToolBinding] = field(default_factory=dict)
    triggers: dict[str, TriggerBinding] = field(default_factory=dict)
    run_budget: Limit = Limit()
    day_budget: Limit = Limit()
    model: str = ""


def read_bindings(file: Path, findings: Findings) -> Bindings:
    """The bindings in `file`; none at all when it does not exist."""
    if not file.exists():
        return Bindings()
    text = Folder(file.parent, findings).read(BINDINGS, Mark(BINDINGS))
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
        run_budget=_read_limit(budget.child("run")),
        day_budget=_read_limit(budget.child("day")),
        model=fields.text("model"),
    )
    budget.finish()
    fields.finish()
    return bindings


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
    )
    fields.finish()
    return binding if binding.server else None


def _text(node: Node) -> str:
    return node.text if isinstance(node, Scalar) else str(plain(node))


def _read_trigger(node: Node, findings: Findings) -> TriggerBinding:
    fields = Fields(node, "the binding of a trigger", findings, node.mark)
    signature = fields.choice("signature", SIGNATURES, "") if fields.has("signature") else ""
    limited = fields.has("max_queued")
    trigger = TriggerBinding(
        at=node.mark,
        node=node,
        secret=fields.text("secret"),
        signature=cast(Signature, signature) if signature else None,
        dedupe_window=fields.duration("dedupe_window"),
        catch_up=_read_catch_up(fields.child("catch_up")),
        max_queued=fields.whole_number("max_queued", 1, least=1, most=1_000_000) if limited else None,
    )
    # Which messages wake a channel trigger.
    fields.ignore("channel", "sender", "pattern")
    fields.finish()
    return trigger


def _read_catch_up(fields: Fields) -> CatchUp:
    catch_up = CatchUp(
        window=fields.duration("window") or CatchUp().window,
        policy=cast(CatchUpPolicy, fields.choice("policy", ("once", "all", "skip"), "once")),
    )
    fields.finish()
    return catch_up


def _read_limit(fields: Fields) -> Limit:
    cost = fields.parsed("cost", _money, "field-value")
    limit = Limit(
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
