"""colleague expert validate: one tick or cross per group, then the findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.cli.output import mark, note, progress, say, say_hint, say_json
from colleague.cli.typed import with_home
from colleague.errors import ConfigError, UsageError
from colleague.experts.bindings import Bindings, read_bindings
from colleague.experts.expert import Expert, find_expert
from colleague.experts.rehearsal.file_checks import check_rehearsal
from colleague.home import Home
from colleague.packages.finding import Finding, Findings
from colleague.packages.mark import Mark
from colleague.packages.names import BINDINGS
from colleague.packages.package import Package, Reading, read_package
from colleague.packages.rule import RULES

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.experts.bound_skills import BoundSkills
    from colleague.mcp.probe import Probed

NOT_CHECKED = "-"
_UNREACHABLE = "server-unreachable"


@dataclass(frozen=True)
class _Phase2:
    """An expert whose bindings were checked, and the servers that were asked."""

    expert: Expert
    bindings: Bindings
    asked: tuple[str, ...] = ()
    skills: BoundSkills = field(default_factory=dict)


def say_validation(home: Home, target: str, *, offline: bool, as_json: bool) -> bool:
    """Validates an installed expert or a folder; True when there is no error."""
    if Path(target).is_file():
        raise UsageError(f"{target} is a file", hint="name the folder of the package, such as ./")
    expert = _expert(home, target)
    reading = expert.read() if expert else read_package(Path(target).expanduser().absolute())
    if reading.package:
        check_rehearsal(reading.package, reading.findings)
    phase_2 = None
    if expert and reading.package and not offline:
        phase_2 = _check_phase_2(home, expert, reading.package, reading.findings)
    if as_json:
        say_json(_document(target, expert, reading))
    else:
        _say_groups(reading, phase_2)
        _say_findings(reading.findings)
    return reading.findings.ok


def _expert(home: Home, target: str) -> Expert | None:
    """None when `target` is a folder: anything with a slash, or a folder that is no installed expert."""
    if "/" in target or target in (".", ".."):
        return None
    if (Path(target) / "expert.yaml").is_file() and not home.expert(target).exists():
        return None
    return find_expert(home, target)


def _check_phase_2(home: Home, expert: Expert, package: Package, findings: Findings) -> _Phase2:
    import os

    from colleague.cli.client import loaded
    from colleague.runtime.expert_validation import check_expert_bindings, check_expert_triggers

    try:
        settings = loaded(home)
    except ConfigError as error:
        findings.add("settings-invalid", Mark(home.settings_file.name), error.message, error.hint)
        return _Phase2(expert, read_bindings(expert.bindings_file, Findings()))
    checked = check_expert_bindings(home, settings, expert, package, findings)
    phase_2 = _Phase2(expert, checked.bindings, checked.servers, checked.skills)
    probed = _probe(home, settings, package, phase_2, findings) if checked.servers else []
    check_expert_triggers(
        home, expert, settings, os.environ, probed, findings, passed_over=_secrets_at_gateway(home)
    )
    return phase_2


def _secrets_at_gateway(home: Home) -> frozenset[tuple[str, str]]:
    """Triggers whose secret is in the environment of the running gateway, whatever is in ours."""
    import asyncio

    from colleague.cli.gateway_triggers import problems_at_gateway
    from colleague.triggers.problems import UNSET

    found = asyncio.run(problems_at_gateway(home)) or {}
    return frozenset(key for key, each in found.items() if UNSET not in {problem["code"] for problem in each})


def _probe(
    home: Home, settings: Settings, package: Package, phase_2: _Phase2, findings: Findings
) -> list[Probed]:
    import asyncio
    import os

    from colleague.cli.held_servers import servers_on_hold
    from colleague.experts.binding_probe import probe_bindings, time_limit
    from colleague.mcp.servers import Servers

    waiting = list(phase_2.asked)
    seconds = time_limit(settings, waiting)
    name, bindings = phase_2.expert.name, phase_2.bindings

    async def main() -> list[Probed]:
        held = await servers_on_hold(home, settings)
        async with Servers.of(home, settings, os.environ, held=held) as servers:
            return await probe_bindings(
                package,
                bindings,
                servers,
                findings,
                name=name,
                seconds=seconds,
                tell=done,
                skills=phase_2.skills,
            )

    with progress(f"Starting {', '.join(waiting)}") as tell:

        def done(probed: Probed) -> None:
            waiting.remove(probed.name)
            tell(f"Waiting for {', '.join(waiting)}" if waiting else "Stopping them again")

        return asyncio.run(main())


def _document(target: str, expert: Expert | None, reading: Reading) -> dict[str, object]:
    package = reading.package
    return {
        "expert": expert.name if expert else (package.name if package else target),
        "version": package.manifest.version if package else "",
        "ok": reading.findings.ok,
        "findings": [finding.as_dict() for finding in reading.findings],
    }


def _say_groups(reading: Reading, phase_2: _Phase2 | None) -> None:
    if reading.package is None:
        say(f"{mark(False)} Package structure")
        return
    broken = _broken(reading.findings)
    for group, title in _groups(reading.package, phase_2, readable=not _misread(reading.findings)):
        say(f"{mark(group not in broken) if group else NOT_CHECKED} {title}")


def _broken(findings: Findings) -> set[str]:
    """The groups with a cross. A server that does not answer is configured all the same."""
    counted = [each for each in findings if each.severity == "error" or each.code == "state-missing"]
    return {each.code if each.code == _UNREACHABLE else each.group for each in counted}


def _misread(findings: Findings) -> bool:
    """Whether a part of bindings.yaml says nothing that could be checked."""
    return any(each.file == BINDINGS and RULES[each.code][1] == "structure" for each in findings.errors)


def _groups(package: Package, phase_2: _Phase2 | None, *, readable: bool) -> Iterator[tuple[str, str]]:
    """Group and title; no group for what is not checked. `readable`: bindings.yaml."""
    yield "structure", f"Package structure valid (spec {package.manifest.spec})"
    yield "references", "Cross-references intact (triggers → processes → functions)"
    triggers = ", ".join(f"{trigger.name}: {trigger.handler}" for trigger in package.triggers) or "none"
    if phase_2 is None:
        yield "triggers", f"Triggers readable ({triggers})"
        return
    yield "bindings", "All required tools bound" if readable else f"{BINDINGS} readable"
    yield from _server_groups(phase_2)
    yield "state", "State files initialized"
    if not readable:
        yield "", f"Triggers: not checked, {BINDINGS} has errors"
        return
    name, enabled = phase_2.expert.name, phase_2.expert.record.enabled
    state = "registered" if enabled else with_home(f"ready, off until: colleague expert enable {name}")
    yield "triggers", f"Triggers {state} ({triggers})"


def _server_groups(phase_2: _Phase2) -> Iterator[tuple[str, str]]:
    if phase_2.bindings.tools:
        yield "servers", "MCP servers configured"
    else:
        yield "", "MCP servers configured: nothing bound yet"
    if phase_2.asked:
        yield _UNREACHABLE, f"MCP servers reachable ({', '.join(phase_2.asked)})"
    else:
        yield "", "MCP servers reachable: none to ask"


def _say_findings(findings: Findings) -> None:
    if not len(findings):
        return
    say()
    for finding in findings:
        _say_finding(finding)
    errors = len(findings.errors)
    note(f"{_count(errors, 'error')}, {_count(len(findings) - errors, 'warning')}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _say_finding(finding: Finding) -> None:
    say(f"{finding.severity:7} {finding} [{finding.code}]")
    if finding.hint:
        say_hint(f"        {finding.hint}")
