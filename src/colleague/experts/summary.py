"""An expert in one document, for lists, pages and scripts. Private knowledge is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colleague.experts.bindings import Bindings
from colleague.experts.expert import Expert, rename_hint
from colleague.packages.manifest import Manifest
from colleague.packages.reserved import name_problem

if TYPE_CHECKING:
    from colleague.packages.function import Function
    from colleague.packages.knowledge import Knowledge
    from colleague.packages.package import Package
    from colleague.packages.process import Process
    from colleague.packages.state_template import StateTemplate
    from colleague.packages.trigger import Trigger


def brief(expert: Expert, manifest: Manifest | None, bindings: Bindings) -> dict[str, Any]:
    """What a list shows; `manifest` is None when it cannot be read."""
    tools = manifest.requires_tools if manifest else ()
    return {
        "name": expert.name,
        "version": manifest.version if manifest else expert.record.version,
        "description": manifest.description if manifest else "",
        "readable": manifest is not None,
        "problem": _name_problem(expert.name),
        "enabled": expert.record.enabled,
        "linked": expert.linked,
        "accepted": expert.is_accepted,
        "source": str(expert.record.source) if expert.record.source else None,
        "tools": {name: bindings.tools[name].server if name in bindings.tools else None for name in tools},
        "triggers": [trigger.name for trigger in manifest.triggers] if manifest else [],
    }


def _name_problem(name: str) -> str | None:
    problem = name_problem(name)
    return f"{problem}; {rename_hint(name)}" if problem else None


def full(expert: Expert, package: Package, bindings: Bindings) -> dict[str, Any]:
    """Everything there is to know, by name."""
    from colleague.experts.accepted import not_accepted

    manifest = package.manifest
    current = expert.read().package
    withheld = not_accepted(expert, current) if current else ()
    return brief(expert, manifest, bindings) | {
        "spec": manifest.spec,
        "author": manifest.author,
        "license": manifest.license,
        "outputs": list(manifest.outputs),
        "digest": package.digest,
        "not_accepted": [each.what for each in withheld],
        "folder": str(expert.folder),
        "package": str(expert.root),
        "session": expert.label,
        "triggers": [trigger_document(trigger) for trigger in package.triggers],
        "tiers": dict(package.by_tier()),
        "default_tier": manifest.policy.approval.default,
        "functions": [_part(each) for each in package.functions],
        "processes": [_process(process) for process in package.processes],
        "knowledge": [_part(each) for each in package.public_knowledge],
        "state": [_state(each) for each in package.state],
        "model": bindings.model or None,
    }


def _part(part: Function | Knowledge) -> dict[str, Any]:
    return {"name": part.name, "description": part.description, "tags": list(part.tags)}


def _state(template: StateTemplate) -> dict[str, Any]:
    return {"path": template.path, "scope": template.scope, "description": template.description}


def trigger_document(trigger: Trigger) -> dict[str, Any]:
    return {
        "name": trigger.name,
        "type": trigger.type,
        "handler": trigger.handler,
        "process": trigger.process,
        "concurrency": trigger.concurrency.mode,
        "concurrency_key": trigger.concurrency.key.text if trigger.concurrency.key else None,
        "session": trigger.session,
        "description": trigger.description,
    }


def _process(process: Process) -> dict[str, Any]:
    execution, delivery = process.execution, process.delivery
    return {
        "name": process.name,
        "description": process.description,
        "trigger": process.trigger or None,
        "inputs": [each.name for each in process.inputs],
        "outputs": [each.name for each in process.outputs],
        "tags": list(process.tags),
        "steps": [step.text for step in process.steps],
        "timeout": str(execution.timeout) if execution.timeout else None,
        "max_attempts": execution.retry.max_attempts,
        "on_failure": execution.on_failure,
        "delivery": {"format": delivery.format, "channel": delivery.channel},
        "sla": str(delivery.sla) if delivery.sla else None,
    }
