"""Every rule of phase 1, the package by itself, has a package here that breaks just that rule."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from colleague.packages.folder import MAX_FILE_BYTES, MAX_FILES
from colleague.packages.package import read_package
from colleague.packages.rule import RULES
from tests.nobody import as_nobody
from tests.unit.packages.conftest import PackageOnDisk

MANIFEST = "expert.yaml"
FUNCTION = "functions/classify.md"
PROCESS = "processes/triage.md"
TOOL = "tools/crm.yaml"
FACTS = "knowledge/facts.md"
NOTES = "state/notes.md"

Change = Callable[[PackageOnDisk], object]


@dataclass(frozen=True)
class Case:
    """`change` breaks rule `code` in the clean package, at the line of `marker` in `file`.

    Without a marker the finding stands on line 1. `also` are findings that cannot be kept apart."""

    code: str
    change: Change
    file: str = MANIFEST
    marker: str = ""
    also: tuple[str, ...] = ()


def written(path: str, content: str | bytes) -> Change:
    return lambda package: package.write(path, content)


def replaced(path: str, old: str, new: str) -> Change:
    return lambda package: package.replace(path, old, new)


def appended(text: str, path: str = MANIFEST) -> Change:
    return lambda package: package.append(path, text)


def listed(kind: str, path: str) -> Change:
    """Lists one more path under `kind` in components."""
    return lambda package: package.replace(MANIFEST, f"  {kind}: [{kind}/", f"  {kind}: [{path}, {kind}/")


def in_trigger(*lines: str, kind: str = "webhook") -> Change:
    new = "\n    ".join([f"type: {kind}", *lines])
    return replaced(MANIFEST, "type: webhook", new)


def in_head(path: str, *lines: str) -> Change:
    """Adds lines at the end of the frontmatter."""
    return replaced(path, "\n---\n", "\n" + "\n".join(lines) + "\n---\n")


def override(line: str) -> Change:
    return replaced(MANIFEST, "crm.get_contact: auto", f"crm.get_contact: auto\n      {line}")


def linked(path: str, target: str) -> Change:
    return lambda package: (package.root / path).symlink_to(target)


def both(*changes: Change) -> Change:
    return lambda package: [change(package) for change in changes]


def without_functions(package: PackageOnDisk) -> None:
    package.replace(MANIFEST, "functions: [functions/classify.md]", "functions: []")
    package.replace(PROCESS, "functions: [classify]", "functions: []")
    package.remove(FUNCTION)


def without_steps(package: PackageOnDisk) -> None:
    package.write(PROCESS, package.text(PROCESS).replace("- [ ] ", ""))


def with_too_many_files(package: PackageOnDisk) -> None:
    (package.root / "data").mkdir()
    for number in range(MAX_FILES + 1):
        (package.root / "data" / str(number)).touch()


def with_giant(package: PackageOnDisk) -> None:
    package.write("data.bin", b"")
    os.truncate(package.root / "data.bin", MAX_FILE_BYTES + 1)


FILES = [
    Case("package-not-found", lambda package: shutil.rmtree(package.root), file="{root}"),
    Case("package-too-large", with_too_many_files),
    Case("manifest-missing", lambda package: package.remove(MANIFEST)),
    Case("readme-missing", lambda package: package.remove("README.md")),
    Case("file-unreadable", listed("knowledge", "README.md/facts.md"), marker="  knowledge: ["),
    Case("file-unreadable", listed("knowledge", "knowledge/" + "a" * 300), marker="  knowledge: ["),
    Case("file-not-utf8", appended("caf\udce9 au lait\n", FACTS), FACTS, "au lait"),
    Case("file-too-large", with_giant, "data.bin"),
    Case("file-not-regular", lambda package: os.mkfifo(package.root / "pipe"), "pipe"),
    Case(
        "file-not-regular",
        both(
            listed("persona", "./persona/pipe.md"),
            lambda package: os.mkfifo(package.root / "persona/pipe.md"),
        ),
        "persona/pipe.md",
    ),
    Case(
        "file-not-regular",
        both(listed("persona", "persona/more"), lambda package: (package.root / "persona/more").mkdir()),
        "persona/more",
    ),
    Case("path-outside-package", listed("knowledge", "../facts.md"), marker="  knowledge: ["),
    Case("path-outside-package", listed("knowledge", "/etc/hostname"), marker="  knowledge: ["),
    Case("path-outside-package", listed("knowledge", "~/facts.md"), marker="  knowledge: ["),
    Case(
        "path-outside-package",
        replaced(PROCESS, "[state/notes.md]", "[state/notes.md, state/../../notes.md]"),
        PROCESS,
        "context:",
    ),
    Case("link-outside-package", linked("hosts", "/etc/hosts"), "hosts"),
    Case("link-outside-package", linked("knowledge/hosts", "../../hosts"), "knowledge/hosts"),
    Case("link-outside-package", linked("loop", "loop"), "loop"),
    Case("bindings-shipped", written("bindings.yaml", "tools: {}\n"), "bindings.yaml"),
    Case("bindings-shipped", linked("bindings.yaml", "nowhere"), "bindings.yaml"),
    Case("bindings-shipped", written("BINDINGS.Yaml", "tools: {}\n"), "BINDINGS.Yaml"),
    Case("link-shipped", written("LINK.json", "{}\n"), "LINK.json"),
    Case("file-lfs-pointer", written(FACTS, "version https://git-lfs.github.com/spec/v1\nsize 1\n"), FACTS),
    Case("learnings-shipped", written("learnings/_package.md", "# Learnings\n"), "learnings/_package.md"),
    Case("component-missing", listed("knowledge", "knowledge/gone.md"), marker="  knowledge: ["),
    Case("component-unlisted", written("knowledge/more.md", "# More\n"), "knowledge/more.md"),
    Case(
        "orchestrator-missing",
        replaced(MANIFEST, "  orchestrator: orchestrator.md\n", ""),
        marker="components:",
    ),
    Case(
        "persona-missing",
        both(
            replaced(MANIFEST, "persona: [persona/identity.md]", "persona: []"),
            lambda package: package.remove("persona/identity.md"),
        ),
        marker="components:",
    ),
    Case("function-missing", without_functions, marker="components:"),
]

FIELDS = [
    Case("yaml-invalid", in_head(FACTS, "tags: a: b"), FACTS, "tags: a: b"),
    Case("yaml-duplicate-key", in_head(FACTS, "name: twice"), FACTS, "name: twice"),
    Case("yaml-bomb", in_head(FACTS, "tags: &tags [*tags]"), FACTS, "tags: &tags"),
    Case(
        "frontmatter-missing",
        both(listed("functions", "functions/sort.md"), written("functions/sort.md", "# Sort\n")),
        "functions/sort.md",
    ),
    Case("frontmatter-unclosed", written(FACTS, "---\nname: facts\n"), FACTS),
    Case("field-missing", replaced(MANIFEST, 'spec: "1.0"\n', "")),
    Case("field-missing", replaced(MANIFEST, "name: clean-expert\n", "")),
    Case("field-missing", replaced(MANIFEST, "version: 1.0.0", "version: ''"), marker="version:"),
    Case(
        "field-missing", replaced(MANIFEST, "A package with nothing wrong in it", ""), marker="description:"
    ),
    Case("field-missing", replaced(FUNCTION, "description: Say what a mail is about\n", ""), FUNCTION),
    Case("field-missing", replaced(MANIFEST, "    type: webhook\n", ""), marker="- name: new_mail"),
    Case("field-missing", replaced(MANIFEST, "    process: triage\n", ""), marker="- name: new_mail"),
    Case("field-type", in_head(FACTS, "tags: {a: b}"), FACTS, "tags:"),
    Case("field-type", replaced(FACTS, "description: What we know", "description: [a]"), FACTS, "[a]"),
    Case("field-type", replaced(FUNCTION, "description: Say", "description:\n  - Say"), FUNCTION, "- Say"),
    Case("field-type", appended("learning:\n  enabled: 1\n"), marker="enabled: 1"),
    Case("field-type", replaced(MANIFEST, "      mail_id: mail.id", "      - mail_id"), marker="- mail_id"),
    Case("field-type", replaced(TOOL, "approval: auto", "approval: [auto]"), TOOL, "[auto]"),
    Case("field-value", appended("learning:\n  approval: maybe\n"), marker="approval: maybe"),
    Case("field-value", appended("execution:\n  on_failure: panic\n"), marker="on_failure: panic"),
    Case("field-value", appended("learning:\n  max_entries_per_file: 0\n"), marker="max_entries_per_file"),
    Case("field-value", in_trigger("session: both"), marker="session: both"),
    Case("field-value", in_head(FACTS, "type: secret"), FACTS, "type: secret"),
    Case("field-unknown", appended("licence: MIT\n"), marker="licence"),
    Case("field-unknown", in_trigger("timezone: UTC"), marker="timezone"),
    Case("field-unknown", in_head(FACTS, "typ: private"), FACTS, "typ:"),
    Case("field-unknown", in_head("state/notes.md", "scop: session"), "state/notes.md", "scop:"),
    Case("duration-invalid", appended("execution:\n  timeout: 5 minutes\n"), marker="timeout: 5"),
    Case("duration-invalid", appended("execution:\n  timeout: ''\n"), marker="timeout:"),
    Case("duration-invalid", in_head(PROCESS, "delivery:", "  sla: soon"), PROCESS, "sla: soon"),
    Case(
        "name-duplicate",
        both(
            listed("knowledge", "knowledge/again.md"),
            written("knowledge/again.md", "---\ntags: []\nname: facts\n---\n"),
        ),
        FACTS,
        "name: facts",
    ),
    Case("name-duplicate", replaced(TOOL, "name: delete_contact", "name: get_contact #2"), TOOL, "#2"),
    Case(
        "name-duplicate",
        replaced(MANIFEST, "policy:", "  - {name: new_mail, type: channel, process: triage}\npolicy:"),
        marker="type: channel",
    ),
    Case("name-awkward", replaced(MANIFEST, "name: clean-expert", "name: Clean Expert!"), marker="Expert!"),
    Case("name-path", replaced(MANIFEST, "name: clean-expert", "name: ../clean-expert"), marker="../clean"),
    Case("name-path", replaced(MANIFEST, "name: clean-expert", "name: .."), marker="name: .."),
    Case(
        "name-path",
        replaced(MANIFEST, "tools: [crm]", "tools: [crm, a/b]"),
        marker="a/b",
        also=("tool-undescribed",),
    ),
    Case(
        "name-path",
        replaced(FUNCTION, "name: classify", "name: a/b"),
        FUNCTION,
        "a/b",
        also=("process-function-unknown",),
    ),
    Case(
        "name-path",
        replaced(PROCESS, "name: triage", "name: ./triage"),
        PROCESS,
        "./triage",
        ("trigger-process-unknown",),
    ),
    Case("name-path", replaced(FACTS, "name: facts", r"name: a\b"), FACTS, "name:"),
    Case("name-path", replaced(NOTES, "name: notes", "name: state/notes.md"), NOTES, "name:"),
    Case("name-path", replaced(TOOL, "name: crm", "name: /crm"), TOOL, "/crm", also=("tool-undescribed",)),
    Case("yaml-tag", appended("author: !!python/object/apply:os.system [ls]\n"), marker="!!python"),
    Case(
        "yaml-tag",
        replaced(TOOL, "description: Contacts", "description: !foo Contacts"),
        TOOL,
        "!foo",
        also=("tool-undescribed",),
    ),
    Case(
        "yaml-tag",
        in_head(FUNCTION, "tags: !!set {a, b}"),
        FUNCTION,
        "!!set",
        also=("process-function-unknown",),
    ),
    Case("yaml-tag", in_head(NOTES, "description: !!binary aGVsbG8="), NOTES, "!!binary"),
    Case("spec-unsupported", replaced(MANIFEST, 'spec: "1.0"', 'spec: "2.0"'), marker="spec:"),
    Case("spec-newer", replaced(MANIFEST, 'spec: "1.0"', 'spec: "1.1"'), marker="spec:"),
    Case("version-not-semver", replaced(MANIFEST, "version: 1.0.0", "version: 1.0"), marker="version:"),
    Case("type-unknown", replaced(TOOL, "name: string", "name: strnig"), TOOL, "strnig"),
    Case("type-unknown", replaced(TOOL, "name: string", "name: string" + "[]" * 5000), TOOL, "string["),
]

REFERENCES = [
    Case(
        "trigger-process-unknown",
        replaced(MANIFEST, "process: triage", "process: triag"),
        marker="process: triag",
    ),
    Case("tool-not-required", replaced(FUNCTION, "tools: [crm]", "tools: [crm, phone]"), FUNCTION, "phone"),
    Case("tool-not-required", replaced(PROCESS, "tools: [crm]", "tools: [crm, phone]"), PROCESS, "phone"),
    Case("delivery-channel-unknown", appended("delivery:\n  channel: pigeon\n"), marker="pigeon"),
    Case("delivery-channel-unknown", in_head(PROCESS, "delivery:", "  channel: pigeon"), PROCESS, "pigeon"),
    Case(
        "delivery-channel-unknown",
        replaced(MANIFEST, "  approval:\n", "  escalation:\n    channel: pigeon\n  approval:\n"),
        marker="pigeon",
    ),
    *(
        Case(
            "reference-path",
            replaced(MANIFEST, "- name: new_mail", f"- name: {json.dumps(name)}"),
            marker="- name:",
            also=("process-trigger-unknown",),
        )
        for name in ("../x", "a/b", "/etc/x", "C:x", "a\\b", "..", "~x", "a\0b")
    ),
    Case(
        "reference-path",
        replaced(MANIFEST, "process: triage", "process: ../triage"),
        marker="process: ../triage",
        also=("trigger-process-unknown",),
    ),
    Case(
        "reference-path",
        in_trigger("requires_tool: a/b"),
        marker="a/b",
        also=("trigger-tool-not-required",),
    ),
    Case(
        "reference-path",
        replaced(PROCESS, "trigger: new_mail", "trigger: ../new_mail"),
        PROCESS,
        "../new_mail",
        also=("process-trigger-unknown",),
    ),
    Case(
        "reference-path",
        replaced(PROCESS, "[classify]", "[classify, ../sort]"),
        PROCESS,
        "../sort",
        also=("process-function-unknown",),
    ),
    Case(
        "path-outside-package",
        replaced(FUNCTION, "[knowledge/facts.md]", "[facts, ../facts.md]"),
        FUNCTION,
        "../facts.md",
        also=("function-knowledge-unknown",),
    ),
    Case("process-trigger-unknown", replaced(PROCESS, "new_mail", "new_mial"), PROCESS, "new_mial"),
    Case("process-function-unknown", replaced(PROCESS, "[classify]", "[classify, sort]"), PROCESS, "sort"),
    Case(
        "function-knowledge-unknown",
        replaced(FUNCTION, "[knowledge/facts.md]", "[facts, knowledge/rumours.md]"),
        FUNCTION,
        "rumours",
    ),
    Case("context-file-unknown", replaced(PROCESS, "[state/notes.md]", "[state/gone.md]"), PROCESS, "gone"),
    Case("override-malformed", override("get_deal: auto"), marker="get_deal"),
    Case("override-tool-unknown", override("phone.call: auto"), marker="phone.call"),
    Case("override-operation-unknown", override("crm.get_kontact: auto"), marker="get_kontact"),
    Case("override-loosens-manual", override("crm.delete_contact: confirm"), marker="delete_contact"),
    Case("tool-undescribed", replaced(MANIFEST, "tools: [crm]", "tools: [crm, phone]"), marker="phone"),
    Case(
        "step-operation-undeclared",
        appended("- [ ] Tidy up with `crm.merge_contacts`.\n", PROCESS),
        PROCESS,
        "crm.merge_contacts",
    ),
    Case(
        "scratchpad-placeholder-unknown",
        replaced(PROCESS, "scratchpad: ./scratch/triage-{mail_id}", "scratchpad: ./scratch/triage-{id}"),
        PROCESS,
        "{id}",
    ),
    Case(
        "scratchpad-outside",
        replaced(PROCESS, "scratchpad: ./scratch/triage", "scratchpad: ./state/triage"),
        PROCESS,
        "./state/triage",
    ),
    Case(
        "scratchpad-outside",
        replaced(PROCESS, "scratchpad: ./scratch/triage", "scratchpad: scratch/../triage"),
        PROCESS,
        "scratch/..",
    ),
    Case(
        "checklist-missing",
        both(in_head(PROCESS, "execution:", "  resume_from_execution_log: true"), without_steps),
        PROCESS,
    ),
    Case(
        "resume-idempotent",
        in_head(PROCESS, "execution:", "  resume_from_execution_log: true", "  idempotent: true"),
        PROCESS,
        "idempotent",
    ),
    Case(
        "learning-scope-unknown",
        written("learnings/sales.md", "---\ntitle: Sales\nscope: sales\n---\n"),
        "learnings/sales.md",
        "scope: sales",
        also=("learnings-shipped",),
    ),
]

TRIGGERS = [
    Case("trigger-expr-missing", in_trigger(kind="cron"), marker="- name: new_mail"),
    Case("cron-invalid", in_trigger("expr: every day", kind="cron"), marker="expr:"),
    Case("cron-invalid", in_trigger("expr: ''", kind="cron"), marker="expr:"),
    Case("cron-never-fires", in_trigger('expr: "0 8 30 2 *"', kind="cron"), marker="expr:"),
    Case("timezone-unknown", in_trigger("tz: Mars/Olympus"), marker="tz:"),
    Case("payload-path-invalid", replaced(MANIFEST, "mail.id", "mail..id"), marker="mail..id"),
    Case("payload-path-invalid", in_trigger("dedupe_key: '['"), marker="dedupe_key"),
    Case(
        "payload-input-unknown",
        replaced(MANIFEST, "mail_id: mail.id", "mail_id: mail.id\n      subject: mail.subject"),
        marker="mail.subject",
    ),
    Case("concurrency-key-missing", in_trigger("concurrency: serial_per_key"), marker="serial_per_key"),
    Case(
        "concurrency-key-missing",
        appended("concurrency:\n  default: serial_per_key\n"),
        marker="- name: new_mail",
    ),
    Case("preset-unknown", in_trigger("preset: outlook"), marker="outlook"),
    Case("trigger-tool-not-required", in_trigger("requires_tool: phone"), marker="phone"),
]

CASES = [*FILES, *FIELDS, *REFERENCES, *TRIGGERS]


def names() -> list[str]:
    return [f"{case.code}-{number}" for number, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=names())
def test_a_broken_rule_is_the_only_finding(clean: PackageOnDisk, case: Case) -> None:
    case.change(clean)
    file = case.file.format(root=clean.root)
    line = clean.line(case.file, case.marker) if case.marker else 1

    found = list(clean.read().findings)

    assert [
        (finding.code, finding.file, finding.line) for finding in found if finding.code not in case.also
    ] == [(case.code, file, line)], "\n".join(map(str, found))
    assert sorted(finding.code for finding in found) == sorted([case.code, *case.also])
    assert all(finding.severity == RULES[finding.code][0] for finding in found)
    assert all(finding.message for finding in found)


def test_every_rule_of_phase_1_has_a_case() -> None:
    phase_1 = {code for code, (_, group, _) in RULES.items() if group not in ("bindings", "servers", "state")}
    of_a_home = {"name-reserved"}  # the name of a folder in it; tests/acceptance/test_hostile_main_agent.py
    of_a_home |= {"pointer-broken"}  # unit/experts/test_expert.py
    of_a_home |= {code for code in phase_1 if code.startswith(("trigger-secret", "trigger-channel"))}
    of_a_home |= {"trigger-inactive", "trigger-mail-lookup", "delivery-channel-unconnected"}
    of_a_home |= {code for code in phase_1 if code.startswith("rehearsal-")}  # test_file_checks.py
    assert phase_1 - of_a_home - {case.code for case in CASES} == set()


SPEC_TABLE = {
    "manifest-missing": "error",
    "yaml-invalid": "error",
    "field-missing": "error",
    "component-missing": "error",
    "orchestrator-missing": "error",
    "persona-missing": "error",
    "function-missing": "error",
    "trigger-process-unknown": "error",
    "tool-not-required": "error",
    "field-value": "error",
    "delivery-channel-unknown": "error",
    "process-trigger-unknown": "warning",
    "process-function-unknown": "warning",
    "function-knowledge-unknown": "warning",
    "override-malformed": "warning",
    "override-tool-unknown": "warning",
    "override-operation-unknown": "warning",
    "learning-scope-unknown": "warning",
}


def test_the_severities_are_those_of_the_spec() -> None:
    assert {code: RULES[code][0] for code in SPEC_TABLE} == SPEC_TABLE


def test_an_installed_package_may_have_bindings(clean: PackageOnDisk) -> None:
    clean.write("bindings.yaml", "tools: {}\n")
    assert list(read_package(clean.root, installed=True).findings) == []


def test_a_link_inside_the_package_is_fine(clean: PackageOnDisk) -> None:
    (clean.root / "knowledge/alias.txt").symlink_to("facts.md")
    clean.load()


def test_a_link_that_leads_out_over_another_link_is_found_at_both(clean: PackageOnDisk) -> None:
    (clean.root / "near").symlink_to("far")
    (clean.root / "far").symlink_to("/etc/hosts")
    found = [(finding.code, finding.file) for finding in clean.read().findings]
    assert found == [("link-outside-package", "far"), ("link-outside-package", "near")]


def test_an_orchestrator_may_lie_in_any_folder(clean: PackageOnDisk) -> None:
    clean.write("persona/orchestrator.md", clean.text("orchestrator.md"))
    clean.replace(MANIFEST, "orchestrator: orchestrator.md", "orchestrator: persona/orchestrator.md")
    clean.load()


def test_a_file_name_that_is_no_text_can_be_printed(clean: PackageOnDisk) -> None:
    clean.write("knowledge/caf\udce9.md", "# Coffee\n")
    (finding,) = clean.read().findings
    assert finding.code == "component-unlisted"
    assert finding.file.encode() == b"knowledge/caf?.md"


def test_the_hint_names_the_nearest_word(clean: PackageOnDisk) -> None:
    clean.append(MANIFEST, "licence: MIT\n")
    (finding,) = clean.read().findings
    assert finding.hint == "did you mean 'license'?"


@pytest.mark.parametrize("path", [MANIFEST, FACTS, "data.bin"])
def test_a_file_without_leave_to_read_is_a_finding(clean: PackageOnDisk, path: str) -> None:
    clean.write("data.bin", b"\0")
    clean.read()  # imports what it needs while it may
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "package"
        shutil.copytree(clean.root, root)
        Path(folder).chmod(0o755)
        (root / path).chmod(0)
        with as_nobody():
            found = list(read_package(root).findings)
    assert [(finding.code, finding.file) for finding in found] == [("file-unreadable", path)]
