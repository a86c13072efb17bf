"""How an expert looks in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from colleague.cli.expert_notice import note_all
from colleague.cli.output import CROSS, TICK, note, say, say_hint, say_json
from colleague.experts.bindings import Bindings, read_bindings
from colleague.experts.expert import Expert
from colleague.experts.summary import full
from colleague.home import Home
from colleague.packages.finding import Findings
from colleague.packages.manifest import Manifest
from colleague.packages.package import Package
from colleague.packages.policy import Tier

if TYPE_CHECKING:
    from colleague.cli.gateway_triggers import Problems

MEANING: dict[Tier, str] = {"auto": "at once", "confirm": "asks first", "manual": "draft only"}


def say_installed(expert: Expert, *, as_json: bool) -> None:
    """What was installed, and what is still missing."""
    package, bindings = expert.load(), read_bindings(expert.bindings_file, Findings())
    missing = [tool for tool in package.manifest.requires_tools if tool not in bindings.tools]
    if as_json:
        say_json(full(expert, package, bindings) | {"missing": missing})
        return
    say(f"{TICK} {expert.name} {package.manifest.version} from {expert.record.source}")
    say(f"  {package.manifest.description}")
    say()
    say("\n".join(_policy_lines(package, bindings)))
    say()
    _say_warnings(expert)
    for tool in missing:
        say_hint(f"{CROSS} {tool} is bound to nothing yet: colleague expert bind {expert.name} {tool} SERVER")
    say_hint(f"Next: colleague expert validate {expert.name}")
    if package.triggers:
        say_hint(f"      colleague expert enable {expert.name}    (its triggers are off until then)")


def _say_warnings(expert: Expert) -> None:
    for finding in expert.read().findings:
        note(f"warning: {finding}")


def say_expert(expert: Expert, *, as_json: bool) -> None:
    findings = Findings()
    bindings = read_bindings(expert.bindings_file, findings)
    package = expert.load()
    if as_json:
        say_json(full(expert, package, bindings))
        return
    say("\n".join(_expert_lines(expert, package, bindings)))
    note_all([expert])
    for finding in findings:
        note(f"warning: {finding}")


def _expert_lines(expert: Expert, package: Package, bindings: Bindings) -> Iterator[str]:
    document: dict[str, Any] = full(expert, package, bindings)
    yield f"{expert.name} {package.manifest.version}: {package.manifest.description}"
    yield ""
    yield f"source     {document['source'] or 'copied in by hand'}{' (linked)' if expert.linked else ''}"
    yield f"digest     {package.digest[:16]}"
    yield from _made_by(package.manifest)
    yield f"session    {expert.label}"
    yield f"triggers   {'on' if expert.record.enabled else 'off'}"
    yield ""
    yield from _policy_lines(package, bindings, described=True)
    for process in document["processes"]:
        yield ""
        yield f"Process {process['name']}: {process['description']}"
        limits = f"timeout {process['timeout'] or 'none'}, up to {process['max_attempts']} attempts"
        yield f"  {limits}, then {process['on_failure']}; sla {process['sla'] or 'none'}"
        yield from _named("  takes", process["inputs"])
        yield from _named("  gives", process["outputs"])
        yield from (f"  {number:2}. {_short(step)}" for number, step in enumerate(process["steps"], start=1))
    yield ""
    yield f"Functions  {', '.join(item['name'] for item in document['functions'])}"
    if document["knowledge"]:
        yield f"Knowledge  {', '.join(item['name'] for item in document['knowledge'])}"
    if document["state"]:
        files = [f"{item['path']} ({item['scope']})" for item in document["state"]]
        yield f"State      {', '.join(files)}"


def _made_by(manifest: Manifest) -> Iterator[str]:
    """What the author says of the package, for people."""
    if manifest.author or manifest.license:
        licence = f" ({manifest.license})" if manifest.license else ""
        yield f"author     {manifest.author or 'unknown'}{licence}"
    yield from _named("gives     ", manifest.outputs)


def _named(title: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{title} {', '.join(names)}"


def _policy_lines(package: Package, bindings: Bindings, *, described: bool = False) -> Iterator[str]:
    yield "Tools"
    for tool in package.manifest.requires_tools:
        binding = bindings.tools.get(tool)
        yield f"  {tool:10} → {binding.server if binding else 'nothing yet'}"
    yield "Approval"
    for tier, names in package.by_tier().items():
        default = tier == package.manifest.policy.approval.default
        if names or default:
            listed = ", ".join(names) + (" and anything unlisted" if default else "")
            yield f"  {tier:8} {MEANING[tier]:11} {listed.strip()}"
    if package.triggers:
        yield "Triggers"
    for trigger in package.triggers:
        yield f"  {trigger.name} ({trigger.handler}) → {trigger.process} [{trigger.concurrency}]"
        if described and trigger.description:
            yield f"    {_short(' '.join(trigger.description.split()))}"


def _short(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."


def enable(home: Home, name: str) -> bool:
    """Triggers that cannot work hold up no other: they are named, and False says that there are some."""
    from colleague.cli.change_record import record_change
    from colleague.config import load_settings
    from colleague.experts.enabling import enable_expert
    from colleague.plugins.skill_folders import plugin_skill_folders

    settings = load_settings(home)
    package = enable_expert(home, settings, name, plugin_skill_folders(home, settings))
    record_change(home, "expert.enable", name, expert=name)
    say(f"{TICK} {name} is enabled")
    problems = _trigger_problems(home, name)
    for trigger in package.triggers:
        mark = f"{CROSS} " if trigger.name in problems else ""
        say(f"  {mark}{trigger.name} ({trigger.handler}) → {trigger.process}")
    for trigger_name, found in problems.items():
        for problem in found:
            note(f"{CROSS} {trigger_name} cannot work: {problem['message']}")
            note(f"    {problem['cure']}")
    return not problems


def _trigger_problems(home: Home, name: str) -> dict[str, Problems]:
    """By the names of those that have some. What a running gateway says of one counts."""
    import asyncio
    import os

    from colleague.cli.gateway_triggers import problems_at_gateway
    from colleague.config import load_settings
    from colleague.experts.expert import find_expert
    from colleague.plugins.report import plugin_channels
    from colleague.triggers.problems import trigger_problems
    from colleague.triggers.registry import bind_triggers

    settings = load_settings(home)
    channels = plugin_channels(home, settings)
    at_gateway = asyncio.run(problems_at_gateway(home)) or {}
    found = {
        each.trigger.name: at_gateway.get(
            each.key, [p.as_dict() for p in trigger_problems(each, settings, os.environ, channels)]
        )
        for each in bind_triggers(find_expert(home, name))
    }
    return {trigger: problems for trigger, problems in found.items() if problems}
