"""What is wrong with a rehearsal.yaml: the findings of a validation, and the same words from a rehearsal."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from colleague.experts.rehearsal.cases import RehearsalError, rehearsal_file
from colleague.experts.rehearsal.file_checks import check_rehearsal
from colleague.packages.finding import Finding, Findings
from colleague.packages.package import Package
from tests.unit.packages.conftest import CLEAN, PackageOnDisk

FILE = "rehearsal.yaml"


@pytest.fixture
def clean(tmp_path: Path) -> PackageOnDisk:
    package = PackageOnDisk(tmp_path / "clean-expert")
    for path, text in CLEAN.items():
        package.write(path, text)
    package.replace(
        "functions/classify.md",
        "  - name: intent\n    type: string\n",
        """\
  - {name: intent, type: string, enum: [buy, leave]}
  - {name: due, type: string, format: date}
  - {name: score, type: integer}
  - {name: tags, type: "string[]"}
  - {name: sure, type: boolean}
  - {name: person, type: object, properties: {age: {type: number}}}
  - {name: anything}
""",
    )
    package.replace(
        "processes/triage.md",
        "functions: [classify]",
        "functions: [classify]\noutputs: [{name: done, type: boolean}]",
    )
    return package


def package_of(folder: PackageOnDisk) -> Package:
    package = folder.read().package
    assert package is not None
    return package


def found(folder: PackageOnDisk) -> list[Finding]:
    """The rehearsal refuses with the first of what validation says."""
    package, findings = package_of(folder), Findings()
    check_rehearsal(package, findings)
    if findings.errors:
        with pytest.raises(RehearsalError) as refused:
            rehearsal_file(package)
        assert refused.value.message in map(str, findings)
    return list(findings)


@pytest.mark.parametrize(
    ("text", "code", "line", "message", "hint"),
    [
        ("cases: [", "yaml-invalid", 1, "invalid YAML", ""),
        ("cases: !!python/name:os.system x", "yaml-tag", 1, "not plain data", "remove the tag"),
        ("a: &a [*a]", "yaml-bomb", 1, "refers to itself", ""),
        ("\ncases: 1\ncases: 2", "yaml-duplicate-key", 3, "stands twice", ""),
        ("- process: triage", "field-type", 1, "rehearsal.yaml must be a mapping", ""),
        ("just text", "field-type", 1, "rehearsal.yaml must be a mapping", ""),
        ("cases: {process: triage}", "field-type", 1, "cases must be a list", ""),
        ("cases:\n  - text", "field-type", 2, "a case must be a mapping", ""),
        ("cases:\n  - narrative: [a]", "field-type", 2, "narrative must be text", ""),
        ("cases:\n  - functions: {classify: buy}", "field-type", 2, "classify must be a mapping", ""),
        ("cases:\n  - when: {crm.get_contact.name: [a]}", "field-type", 2, "must be text", ""),
        ("cases:\n  - state: {state/notes.md: {under: x}}", "field-missing", 2, "has no line", ""),
        ("case: []", "rehearsal-field-unknown", 1, "'case' is no field", "'cases'"),
        (
            "cases:\n  - operations:\n      crm.get_contact: {wy: x}",
            "rehearsal-field-unknown",
            3,
            "'wy' is no field of crm.get_contact",
            "'why'",
        ),
        ("cases:\n  - process: triag", "rehearsal-name-unknown", 2, "no process 'triag'", "'triage'"),
        ("cases:\n  - functions: {clasify: {}}", "rehearsal-name-unknown", 2, "no function", "'classify'"),
        (
            "cases:\n  - operations:\n      crm.get_contcat: {}",
            "rehearsal-name-unknown",
            3,
            "no operation 'crm.get_contcat'",
            "'crm.get_contact'",
        ),
        ("results:\n  phone.call: {}", "rehearsal-name-unknown", 2, "no operation", "correct the name"),
        ("cases:\n  - when: {crm.get.name: x}", "rehearsal-name-unknown", 2, "no operation 'crm.get'", ""),
        ("cases:\n  - holds: {contact: x}", "rehearsal-name-unknown", 2, "no operation 'contact'", ""),
        (
            "cases:\n  - functions: {classify: {intend: buy}}",
            "rehearsal-name-unknown",
            2,
            "no output",
            "'intent'",
        ),
        ("cases:\n  - outputs: {dune: true}", "rehearsal-name-unknown", 2, "no output 'dune'", "'done'"),
        (
            "cases:\n  - outputs: {done: maybe}",
            "rehearsal-value",
            2,
            "done is not what processes/triage.md:",
            "",
        ),
    ],
)
def test_a_mistake_has_its_place_and_its_cure(
    clean: PackageOnDisk, text: str, code: str, line: int, message: str, hint: str
) -> None:
    clean.write(FILE, text)
    [finding] = found(clean)
    assert (finding.severity, finding.code, finding.file, finding.line) == ("error", code, FILE, line)
    assert message in finding.message
    assert hint in finding.hint


@pytest.mark.parametrize(
    ("output", "fits"),
    [
        ("intent: buy", True),
        ("intent: by", False),
        ("intent: '{crm.get_contact.name}'", True),  # known in the run
        ("due: '2026-01-15'", True),
        ("due: soon", False),
        ("due: '{date+1}'", True),
        ("score: 2", True),
        ("score: 1.5", False),
        ("score: true", False),
        ("score: '{crm.get_contact.name}'", False),  # would be a text
        ("tags: [a, b]", True),
        ("tags: [a, 1]", False),
        ("tags: a", False),
        ("sure: yes", True),
        ("sure: 1", False),
        ("person: {age: 41.5, name: Ada}", True),
        ("person: {age: old}", False),
        ("anything: [1, {a: null}]", True),
        ("intent: ", False),
    ],
)
def test_a_value_is_what_the_function_declares(clean: PackageOnDisk, output: str, fits: bool) -> None:
    clean.write(FILE, f"cases:\n  - functions:\n      classify:\n        {output}\n")
    assert [(each.code, each.line) for each in found(clean)] == ([] if fits else [("rehearsal-value", 4)])


def test_the_hint_of_a_value_names_the_nearest_one(clean: PackageOnDisk) -> None:
    clean.write(
        FILE, "cases:\n  - functions: {classify: {intent: by}}\n  - functions: {classify: {intent: joy}}"
    )
    assert [each.hint for each in found(clean)] == ["did you mean 'buy'?", "use one of buy, leave"]


def test_everything_wrong_is_said_at_once(clean: PackageOnDisk) -> None:
    clean.write(FILE, "results: {crm.x: 1}\ncases:\n  - {proces: triage}\n  - {process: x, narrative: {}}\n")
    assert [each.line for each in found(clean)] == [1, 3, 4, 4]


def test_operations_of_a_tool_that_lists_none_may_be_the_servers(clean: PackageOnDisk) -> None:
    clean.replace("expert.yaml", "tools: [crm]", "tools: [crm, phone]")
    clean.write(FILE, "results: {phone.call: {}}\n")
    assert found(clean) == []


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "{}", "results:\ncases:\n"])
def test_a_file_that_says_nothing_is_fine(clean: PackageOnDisk, text: str) -> None:
    clean.write(FILE, text)
    assert found(clean) == []


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"\x7fELF\x00\xff\xfe", "file-not-utf8"), (b"a: \x00", "yaml-invalid"), (b"[" * 5000, "yaml-bomb")],
)
def test_garbage_is_a_finding(clean: PackageOnDisk, data: bytes, code: str) -> None:
    clean.write(FILE, data)
    assert [each.code for each in found(clean)] == [code]


def test_a_folder_is_no_file(clean: PackageOnDisk) -> None:
    clean.write(f"{FILE}/notes.md", "x")
    [finding] = found(clean)
    assert (finding.code, finding.message) == ("file-not-regular", "rehearsal.yaml is not a file")


def test_links_are_followed_inside_the_package_only(clean: PackageOnDisk) -> None:
    link = clean.root / FILE
    clean.write("more/said.yaml", "cases: [{process: nothing}]")
    link.symlink_to("more/said.yaml")
    assert [each.code for each in found(clean)] == ["rehearsal-name-unknown"]
    link.unlink()
    link.symlink_to("/etc/hostname")
    assert [each.code for each in clean.read().findings] == ["link-outside-package"]
    assert found(clean) == []  # it was said, and the file is not read


def test_a_huge_file_does_not_take_long(clean: PackageOnDisk) -> None:
    started = time.process_time()
    clean.write(
        FILE, "cases:\n" + "  - {proces: x, functions: {clasify: {}}, operations: {crm.x: {}}}\n" * 9000
    )
    assert len(found(clean)) == 27_000
    clean.write(FILE, "cases:\n" + "  - functions: {classify: {intent: by}}\n" * 12_000)
    assert len(found(clean)) == 12_000
    clean.write(FILE, "cases:\n" + "  - {}\n" * 100_000)
    assert [each.code for each in found(clean)] == ["yaml-bomb"]
    assert time.process_time() - started < 20
