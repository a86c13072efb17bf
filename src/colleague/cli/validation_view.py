"""colleague expert validate: one tick or cross per group, then the findings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from colleague.cli.output import mark, note, say, say_json
from colleague.errors import ConfigError
from colleague.experts.bindings import read_bindings
from colleague.experts.expert import Expert, find_expert
from colleague.home import Home
from colleague.packages.finding import Finding, Findings
from colleague.packages.mark import Mark
from colleague.packages.package import Package, Reading, read_package

NOT_CHECKED = "-"


def say_validation(home: Home, target: str, *, offline: bool, as_json: bool) -> bool:
    """Validates an installed expert or a folder; True when there is no error."""
    expert = _expert(home, target)
    reading = expert.read() if expert else read_package(Path(target).expanduser().absolute())
    bound = expert if expert and not offline else None
    if bound and reading.package:
        _check_phase_two(home, bound, reading.package, reading.findings)
    if as_json:
        say_json(_document(target, expert, reading))
    else:
        _say_groups(reading, bound)
        _say_findings(reading.findings)
    return reading.findings.ok


def _expert(home: Home, target: str) -> Expert | None:
    """None when `target` is a folder: anything with a slash, or a folder that is no installed expert."""
    if "/" in target or target in (".", ".."):
        return None
    if (Path(target) / "expert.yaml").is_file() and not home.expert(target).exists():
        return None
    return find_expert(home, target)


def _check_phase_two(home: Home, expert: Expert, package: Package, findings: Findings) -> None:
    from colleague.config import load_settings
    from colleague.experts.check import check_bindings, surroundings

    try:
        settings = load_settings(home)
    except ConfigError as error:
        findings.add("settings-invalid", Mark(home.settings_file.name), error.message, error.hint)
        return
    check_bindings(expert, package, surroundings(settings, home.root, expert.name), findings)


def _document(target: str, expert: Expert | None, reading: Reading) -> dict[str, object]:
    package = reading.package
    return {
        "expert": expert.name if expert else (package.name if package else target),
        "version": package.manifest.version if package else "",
        "ok": reading.findings.ok,
        "findings": [finding.as_dict() for finding in reading.findings],
    }


def _say_groups(reading: Reading, expert: Expert | None) -> None:
    broken = {finding.group for finding in reading.findings.errors}
    broken |= {finding.group for finding in reading.findings if finding.code == "state-missing"}
    if reading.package is None:
        say(f"{mark(False)} Package structure")
        return
    for group, title in _groups(reading.package, expert):
        say(f"{mark(group not in broken) if group else NOT_CHECKED} {title}")


def _groups(package: Package, expert: Expert | None) -> Iterator[tuple[str, str]]:
    """Group and title; no group for what is not checked."""
    yield "structure", f"Package structure valid (spec {package.manifest.spec})"
    yield "references", "Cross-references intact (triggers → processes → functions)"
    triggers = ", ".join(f"{trigger.name}: {trigger.handler}" for trigger in package.triggers) or "none"
    if expert is None:
        yield "triggers", f"Triggers readable ({triggers})"
        return
    yield "bindings", "All required tools bound"
    bound = bool(read_bindings(expert.bindings_file, Findings()).tools)
    yield (
        ("servers", "MCP servers configured") if bound else ("", "MCP servers configured: nothing bound yet")
    )
    yield "", "MCP servers reachable: not checked yet"
    yield "state", "State files initialized"
    state = (
        "registered" if expert.record.enabled else "ready, off until: colleague expert enable " + expert.name
    )
    yield "triggers", f"Triggers {state} ({triggers})"


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
        say(f"        {finding.hint}")
