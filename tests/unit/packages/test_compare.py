"""What an update would change, and what of it lets the expert do more without being asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from colleague.packages.compare import PackageChange, changes, version_step
from tests.unit.packages.conftest import PackageOnDisk

MANIFEST = "expert.yaml"

Edit = Callable[[PackageOnDisk], object]


def compared(package: PackageOnDisk, edit: Edit) -> list[PackageChange]:
    """The changes from the package as it is to the package after `edit`."""
    before = package.read().package
    edit(package)
    return changes(before, package.read().package)


def in_policy(text: str) -> Edit:
    return lambda package: package.replace(MANIFEST, "policy:\n", f"policy:\n{text}")


def in_approval(line: str) -> Edit:
    return lambda package: package.replace(MANIFEST, "    overrides:\n", f"    {line}\n    overrides:\n")


def in_manifest(old: str, new: str) -> Edit:
    return lambda package: package.replace(MANIFEST, old, new)


def with_overrides(*lines: str) -> Edit:
    return in_manifest("crm.get_contact: auto", "\n      ".join(lines) or "{}")


def appended(text: str, path: str = MANIFEST) -> Edit:
    return lambda package: package.append(path, text)


NEW_TRIGGER = "policy:", "  - {name: nightly, type: cron, expr: 0 2 * * *, process: triage}\npolicy:"

CASES: list[tuple[Edit, list[PackageChange]]] = [
    (appended("# a comment\n"), []),
    # tiers
    (with_overrides("crm.get_contact: confirm"), [PackageChange("tier of crm.get_contact: auto → confirm")]),
    (with_overrides("crm.get_contact: manual"), [PackageChange("tier of crm.get_contact: auto → manual")]),
    (
        with_overrides("crm.get_contact: auto", "crm.delete_contact: auto"),
        [PackageChange("tier of crm.delete_contact: confirm → auto", loosens=True)],
    ),
    (
        with_overrides("crm.get_contact: auto", "crm.not_declared: auto"),
        [PackageChange("tier of crm.not_declared: confirm → auto", loosens=True)],
    ),
    (with_overrides("crm.get_contact: auto", "crm.delete_contact: confirm"), []),
    (
        in_approval("default: auto"),
        [
            PackageChange("tier of crm.delete_contact: confirm → auto", loosens=True),
            PackageChange("default tier: confirm → auto", loosens=True),
        ],
    ),
    (
        in_approval("default: manual"),
        [
            PackageChange("tier of crm.delete_contact: confirm → manual"),
            PackageChange("default tier: confirm → manual"),
        ],
    ),
    # the rest of the policy
    (in_approval("timeout: 24h"), [PackageChange("approval timeout: none → 24h", loosens=True)]),
    (
        in_approval("on_timeout: escalate"),
        [PackageChange("on approval timeout: reject → escalate", loosens=True)],
    ),
    (
        in_policy("  escalation:\n    channel: slack\n"),
        [PackageChange("escalation channel: main → slack", loosens=True)],
    ),
    (
        in_policy("  escalation:\n    on_low_confidence: false\n"),
        [PackageChange("escalates on low confidence: no", loosens=True)],
    ),
    (
        in_policy("  escalation:\n    on_manual_ready: false\n"),
        [PackageChange("tells when a draft is ready: no", loosens=True)],
    ),
    # learning
    (
        appended("learning: {approval: auto}\n"),
        [PackageChange("approval of learnings: confirm → auto", loosens=True)],
    ),
    (appended("learning: {approval: manual}\n"), [PackageChange("approval of learnings: confirm → manual")]),
    (appended("learning: {enabled: true}\n"), [PackageChange("learns: yes")]),
    (
        appended("learning: {enabled: true, approval: auto}\n"),
        [
            PackageChange("learns: yes", loosens=True),
            PackageChange("approval of learnings: confirm → auto", loosens=True),
        ],
    ),
    # tools
    (in_manifest("tools: [crm]", "tools: [crm, phone]"), [PackageChange("new tool: phone", loosens=True)]),
    (in_manifest("  tools: [crm]", "  tools: []"), [PackageChange("tool no longer needed: crm")]),
    (
        appended("  - name: find\n    description: Find\n", "tools/crm.yaml"),
        [PackageChange("new operation: crm.find (confirm)")],
    ),
    (
        lambda package: package.replace("tools/crm.yaml", "name: delete_contact", "name: drop_contact"),
        [
            PackageChange("new operation: crm.drop_contact (confirm)"),
            PackageChange("operation removed: crm.delete_contact"),
        ],
    ),
    # triggers
    (
        in_manifest(*NEW_TRIGGER),
        [PackageChange("new trigger: nightly (cron: 0 2 * * * UTC) → triage", loosens=True)],
    ),
    (
        in_manifest("name: new_mail", "name: mail"),
        [
            PackageChange("new trigger: mail (webhook) → triage", loosens=True),
            PackageChange("trigger removed: new_mail"),
        ],
    ),
    (
        in_manifest("type: webhook", "type: webhook\n    preset: gmail"),
        [
            PackageChange(
                "trigger new_mail: webhook → triage [parallel] → webhook/gmail → triage [parallel]", True
            )
        ],
    ),
    (
        appended("concurrency: {default: serial}\n"),
        [PackageChange("trigger new_mail: webhook → triage [parallel] → webhook → triage [serial]")],
    ),
    # where results and failures go
    (
        appended("delivery: {channel: slack}\n"),
        [PackageChange("delivery channel: main → slack", loosens=True)],
    ),
    (
        appended("execution: {on_failure: abandon}\n"),
        [PackageChange("on failure: escalate → abandon", loosens=True)],
    ),
    (
        appended("execution: {on_failure: dead_letter}\n"),
        [PackageChange("on failure: escalate → dead_letter")],
    ),
    (
        appended("execution: {idempotent: true}\n"),
        [PackageChange("repeats every call when it is tried again: yes", loosens=True)],
    ),
    (
        lambda package: package.replace(
            "processes/triage.md", "name: triage", "name: triage\ndelivery: {channel: web}"
        ),
        [PackageChange("process triage: delivery channel: main → web", loosens=True)],
    ),
    # functions, processes and state
    (
        lambda package: package.replace("functions/classify.md", "name: classify", "name: sort"),
        [PackageChange("new function: sort"), PackageChange("function removed: classify")],
    ),
    (
        lambda package: package.replace("processes/triage.md", "name: triage", "name: sift"),
        [PackageChange("new process: sift"), PackageChange("process removed: triage")],
    ),
    (
        appended("More.\n", "state/notes.md"),
        [PackageChange("changed template state/notes.md: your file stays as it is")],
    ),
    (
        lambda package: (
            package.write("state/more.md", "# More\n"),
            package.replace(MANIFEST, "[state/notes.md]", "[state/notes.md, state/more.md]"),
        ),
        [PackageChange("new state file: state/more.md")],
    ),
]


@pytest.mark.parametrize(("edit", "expected"), CASES)
def test_each_kind_of_change(clean: PackageOnDisk, edit: Edit, expected: list[PackageChange]) -> None:
    assert compared(clean, edit) == expected


def test_a_new_operation_that_runs_at_once_loosens(clean: PackageOnDisk) -> None:
    def edit(package: PackageOnDisk) -> None:
        package.append("tools/crm.yaml", "  - name: find\n    description: Find\n")
        with_overrides("crm.get_contact: auto", "crm.find: auto")(package)

    found = compared(clean, edit)
    assert PackageChange("new operation: crm.find (auto)", loosens=True) in found


def test_what_loosens_one_way_tightens_the_other(clean: PackageOnDisk) -> None:
    before = clean.read().package
    in_approval("default: auto")(clean)
    after = clean.read().package
    assert all(change.loosens for change in changes(before, after))
    assert not any(change.loosens for change in changes(after, before))


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        ("1.2.3", "1.2.3", "same"),
        ("1.2.3", "1.2.4", "patch"),
        ("1.2.3", "1.3.0", "minor"),
        ("1.2.3", "2.0.0", "major"),
        ("0.1.0", "0.2.0", "minor"),
        ("1.2.3", "1.2.2", "older"),
        ("2.0.0", "1.9.9", "older"),
        ("1.0.0-rc.1", "1.0.0", "patch"),
        ("1.0.0", "1.0.0-rc.1", "older"),
        ("1.0.0-rc.2", "1.0.0-rc.10", "patch"),
        ("1.0", "1.0", "same"),
        ("1.0", "1.1", "unknown"),
        ("1.0.0", "next", "unknown"),
        ("", "1.0.0", "unknown"),
        ("1.10.0", "1.9.0", "older"),
        ("9" * 5000 + ".0.0", "1.0.0", "unknown"),
    ],
)
def test_version_step(old: str, new: str, step: str) -> None:
    assert version_step(old, new) == step
