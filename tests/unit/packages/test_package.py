"""A package as typed objects: what the example says, inherited, resolved and marked."""

from __future__ import annotations

import os
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from colleague.duration import parse_duration
from colleague.packages.concurrency import Concurrency
from colleague.packages.delivery import Delivery
from colleague.packages.execution import Execution, Retry
from colleague.packages.learning import Learning
from colleague.packages.package import Package, read_package
from colleague.packages.parameter import object_schema
from colleague.packages.payload_path import parse_payload_path
from colleague.packages.policy import ApprovalPolicy, Escalation, Policy
from colleague.packages.snapshot import take_snapshot
from tests.unit.packages.conftest import PackageOnDisk

TRIAGE = "processes/inbound-email-triage.md"


# The example


def test_the_example_loads_without_a_finding(example: PackageOnDisk) -> None:
    package = example.load()
    assert package.name == "radiant-sales-expert"
    assert package.root == example.root


def test_the_manifest(example: PackageOnDisk) -> None:
    manifest = example.load().manifest
    assert (manifest.spec, manifest.version, manifest.license) == ("1.0", "0.1.0", "MIT")
    assert manifest.description == "B2B sales expertise for inbound deal triage and next-best-action"
    assert manifest.author == "The Colleague authors"
    assert manifest.requires_tools == ("crm", "email", "calendar")
    assert len(manifest.outputs) == 7
    assert manifest.concurrency == Concurrency("serial_per_key", parse_payload_path("contact_id"))
    assert manifest.learning == Learning(enabled=True, approval="confirm", max_entries_per_file=50)
    assert manifest.policy.approval.timeout == parse_duration("24h")
    assert manifest.policy.approval.on_timeout == "escalate"
    assert manifest.policy.escalation == Escalation("main", True, True)


def test_orchestrator_and_persona_are_whole_texts(example: PackageOnDisk) -> None:
    package = example.load()
    assert package.orchestrator == example.text("orchestrator.md")
    assert [(item.path, item.text) for item in package.persona] == [
        (path, example.text(path)) for path in ("persona/identity.md", "persona/rules.md")
    ]


def test_a_function(example: PackageOnDisk) -> None:
    function = example.load().function("classify-email-intent")
    assert function.path == "functions/classify-email-intent.md"
    assert function.tags == ("email", "classification", "triage")
    assert [each.name for each in function.inputs] == ["email", "contact", "deal"]
    assert function.outputs[2].schema == {
        "type": "string",
        "enum": ["high", "medium", "low"],
        "description": "How sure the intent is; low hands over to a person",
    }
    assert function.tools == ()
    assert function.knowledge == ("knowledge/meddpicc.md", "knowledge/competitive-battle-cards.md")
    assert function.session == "inline"
    assert function.body.lstrip().startswith("# Classify email intent")


def test_a_process(example: PackageOnDisk) -> None:
    process = example.load().process("inbound-email-triage")
    assert process.path == TRIAGE
    assert process.trigger == "new_email"
    assert process.functions == ("classify-email-intent", "determine-next-action", "compose-response")
    assert process.tools == ("crm", "email", "calendar")
    assert process.context == ("state/pipeline.md",)
    assert process.scratchpad == "./scratch/triage-{message_id}.md"
    assert process.placeholders == ("message_id",)
    assert object_schema(process.inputs) == {
        "type": "object",
        "properties": {
            "message_id": {"type": "string", "description": "Id of the message in the sales mailbox"}
        },
        "required": ["message_id"],
    }


def test_steps_carry_text_line_and_what_they_name(example: PackageOnDisk) -> None:
    steps = example.load().process("inbound-email-triage").steps
    assert len(steps) == example.text(TRIAGE).count("- [ ]") == 11
    assert [step.at.line for step in steps] == [
        number for number, line in enumerate(example.text(TRIAGE).split("\n"), 1) if line.startswith("- [ ]")
    ]
    assert steps[0].files == ("./scratch/triage-{message_id}.md",)
    assert steps[1].operations == ("email.get_email",)
    assert steps[1].text.startswith("Fetch the email with `email.get_email`. Use the message id. Record")
    assert steps[4].functions == ("classify-email-intent",)
    assert steps[10].files == ("./state/pipeline.md",)
    assert [name for step in steps for name in step.undeclared] == []


def test_tools_and_operations(example: PackageOnDisk) -> None:
    package = example.load()
    assert [tool.name for tool in package.tools] == ["crm", "email", "calendar"]
    assert package.operations == (
        *("crm.get_contact", "crm.get_deal", "crm.list_deals", "crm.update_deal_stage", "crm.create_note"),
        *("email.get_email", "email.send"),
        *("calendar.find_free_slots", "calendar.schedule_meeting"),
    )
    operation = package.tool("crm").operation("get_contact")
    assert operation.documented_tier == "auto"
    assert operation.input == {
        "type": "object",
        "properties": {"email": {"type": "string", "description": "Address the contact writes from"}},
        "required": ["email"],
    }
    assert operation.output["properties"]["open_deal_ids"] == {
        "type": "array",
        "description": "Open deals this contact takes part in",
        "items": {"type": "string"},
    }


def test_knowledge_and_state(example: PackageOnDisk) -> None:
    package = example.load()
    assert [(item.name, item.type) for item in package.knowledge] == [
        ("meddpicc", "static"),
        ("competitive-battle-cards", "dynamic"),
    ]
    assert [(item.path, item.scope) for item in package.state] == [
        ("state/pipeline.md", "persistent"),
        ("state/session-notes.md", "session"),
    ]
    assert package.state[0].text == example.text("state/pipeline.md")


def test_triggers(example: PackageOnDisk) -> None:
    mail, scan = example.load().triggers
    assert (mail.type, mail.preset, mail.process, mail.session) == (
        *("webhook", "gmail", "inbound-email-triage", "isolated"),
    )
    assert mail.dedupe_key == parse_payload_path("message_id")
    assert mail.payload_mapping == {"message_id": parse_payload_path("messages[0].id")}
    assert mail.handler == "webhook/gmail"
    assert (scan.cron.text, scan.cron.zone) == ("0 8 * * 1-5", "Australia/Sydney")
    assert scan.handler == "cron: 0 8 * * 1-5 Australia/Sydney"


def test_every_object_is_frozen(example: PackageOnDisk) -> None:
    package = example.load()
    for item in (package, package.manifest, package.processes[0], package.processes[0].steps[0]):
        with pytest.raises(FrozenInstanceError):
            item.name = "another"


# Inheritance


def test_a_trigger_inherits_concurrency_field_by_field(example: PackageOnDisk) -> None:
    mail, scan = example.load().triggers
    assert mail.concurrency == Concurrency("serial_per_key", parse_payload_path("contact_id"))
    assert scan.concurrency.mode == "serial"


def test_a_trigger_overrides_the_key_alone(example: PackageOnDisk) -> None:
    example.replace("expert.yaml", "preset: gmail", "preset: gmail\n    concurrency_key: thread.id")
    mail = example.load().triggers[0]
    assert mail.concurrency == Concurrency("serial_per_key", parse_payload_path("thread.id"))


PACKAGE_EXECUTION = Execution(
    timeout=parse_duration("10m"),
    retry=Retry(3, "exponential", parse_duration("30s")),
    resume_from_execution_log=True,
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("timeout: 1h", replace(PACKAGE_EXECUTION, timeout=parse_duration("1h"))),
        ("on_failure: abandon", replace(PACKAGE_EXECUTION, on_failure="abandon")),
        ("resume_from_execution_log: no", replace(PACKAGE_EXECUTION, resume_from_execution_log=False)),
        (
            "retry: {max_attempts: 5}",
            replace(PACKAGE_EXECUTION, retry=Retry(5, "exponential", parse_duration("30s"))),
        ),
        (
            "retry: {backoff: fixed}",
            replace(PACKAGE_EXECUTION, retry=Retry(3, "fixed", parse_duration("30s"))),
        ),
        (
            "retry: {delay: 1m}",
            replace(PACKAGE_EXECUTION, retry=Retry(3, "exponential", parse_duration("1m"))),
        ),
    ],
)
def test_a_process_overrides_execution_field_by_field(
    example: PackageOnDisk, line: str, expected: Execution
) -> None:
    example.replace(TRIAGE, "execution:\n  timeout: 10m", f"execution:\n  {line}")
    package = example.load()
    assert package.process("inbound-email-triage").execution == expected
    assert package.process("scan-for-opportunities").execution.retry == PACKAGE_EXECUTION.retry
    assert package.manifest.execution == PACKAGE_EXECUTION


PACKAGE_DELIVERY = "delivery:\n  format: structured\n  channel: slack\n  sla: 1h\n  sla_breach: escalate\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("format: narrative", Delivery("narrative", "slack", parse_duration("1h"), "escalate")),
        ("channel: main", Delivery("structured", "main", parse_duration("1h"), "escalate")),
        ("sla: 5m", Delivery("structured", "slack", parse_duration("5m"), "escalate")),
        ("sla_breach: warn", Delivery("structured", "slack", parse_duration("1h"), "warn")),
    ],
)
def test_a_process_overrides_delivery_field_by_field(
    clean: PackageOnDisk, line: str, expected: Delivery
) -> None:
    clean.append("expert.yaml", PACKAGE_DELIVERY)
    clean.replace("processes/triage.md", "context:", f"delivery:\n  {line}\ncontext:")
    assert clean.load().process("triage").delivery == expected


def test_what_nobody_says_has_the_defaults_of_the_spec(clean: PackageOnDisk) -> None:
    clean.replace("expert.yaml", "policy:\n  approval:\n    overrides:\n      crm.get_contact: auto\n", "")
    manifest = clean.load().manifest
    assert manifest.policy == Policy(
        ApprovalPolicy("confirm", {}, None, "reject"), Escalation("main", True, True)
    )
    assert manifest.execution == Execution(
        None, False, Retry(1, "exponential", parse_duration("30s")), "escalate", False
    )
    assert manifest.delivery == Delivery("both", "main", None, "warn")
    assert manifest.learning == Learning(False, "confirm", 50)
    assert manifest.concurrency == Concurrency("parallel", None)


# Approval


def test_the_tier_is_the_override_then_the_default(example: PackageOnDisk) -> None:
    package = example.load()
    assert package.tier("crm.get_contact") == "auto"
    assert package.tier("crm.update_deal_stage") == "confirm"
    assert package.tier("email.send") == "manual"
    assert package.tier("crm.never_heard_of") == "confirm"
    assert package.by_tier()["manual"] == ["email.send", "calendar.schedule_meeting"]


@pytest.mark.parametrize("default", ["auto", "confirm", "manual"])
def test_the_default_tier_holds_for_the_rest(clean: PackageOnDisk, default: str) -> None:
    clean.replace("expert.yaml", "    overrides:\n", f"    default: {default}\n    overrides:\n")
    package = clean.load()
    assert package.tier("crm.get_contact") == "auto"
    assert package.tier("crm.delete_contact") == default


def test_without_a_policy_everything_is_confirmed_whatever_the_tool_file_says(clean: PackageOnDisk) -> None:
    clean.replace("expert.yaml", "policy:\n  approval:\n    overrides:\n      crm.get_contact: auto\n", "")
    package = clean.load()
    assert package.tool("crm").operation("get_contact").documented_tier == "auto"
    assert package.by_tier() == {
        "auto": [],
        "confirm": ["crm.get_contact", "crm.delete_contact"],
        "manual": [],
    }


# Shapes


@pytest.mark.parametrize(
    ("shape", "schema"),
    [
        ("{email: string}", {"type": "object", "properties": {"email": {"type": "string"}}}),
        ("[string]", {"type": "array", "items": {"type": "string"}}),
        ("string[]", {"type": "array", "items": {"type": "string"}}),
        ("number[][]", {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
        ("Boolean", {"type": "boolean"}),
        ("any", {}),
        ("", {}),
        ("{type: array, items: integer}", {"type": "array", "items": {"type": "integer"}}),
        ("{type: [string, 'null']}", {"type": ["string", "null"]}),
        ("{type: {type: string}}", {"type": "object", "properties": {"type": {"type": "string"}}}),
        (
            "{properties: {a: string}, required: [a]}",
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        ),
        ("{type: string, enum: [yes, no, 1.10]}", {"type": "string", "enum": ["yes", "no", "1.10"]}),
        (
            "{type: string, default: off, description: 42}",
            {"type": "string", "default": "off", "description": "42"},
        ),
        ("{type: number, enum: [1, 2.5], minimum: 0}", {"type": "number", "enum": [1, 2.5], "minimum": 0}),
        ("{type: boolean, default: yes}", {"type": "boolean", "default": True}),
    ],
)
def test_shapes_become_json_schema(clean: PackageOnDisk, shape: str, schema: dict[str, Any]) -> None:
    clean.replace("tools/crm.yaml", "deleted: boolean", f"deleted: {shape}")
    operation = clean.load().tool("crm").operation("delete_contact")
    assert operation.output == {"type": "object", "properties": {"deleted": schema}}


@pytest.mark.parametrize(
    ("line", "schema"),
    [
        ("input: string[]", {"type": "array", "items": {"type": "string"}}),
        ("input:", {"type": "object"}),
        ("tags: []", {"type": "object"}),
        ("input: [email]", {"type": "object", "properties": {"email": {}}, "required": ["email"]}),
        (
            "input: [{name: email, type: string, required: false}]",
            {"type": "object", "properties": {"email": {"type": "string"}}},
        ),
    ],
)
def test_an_input_may_be_left_out_or_listed(clean: PackageOnDisk, line: str, schema: dict[str, Any]) -> None:
    operation = f"  - name: find\n    description: Find\n    {line}\n    output: string\n"
    clean.append("tools/crm.yaml", operation)
    package = clean.read().package
    assert package.tool("crm").operation("find").input == schema


def test_operations_may_be_a_mapping(clean: PackageOnDisk) -> None:
    clean.write(
        "tools/crm.yaml", "name: crm\ndescription: c\noperations:\n  get_contact:\n    approval: auto\n"
    )
    operation = clean.load().tool("crm").operation("get_contact")
    assert (operation.documented_tier, operation.at.line) == ("auto", 4)


# Marks


def test_marks_point_at_the_lines_of_the_values(example: PackageOnDisk) -> None:
    package = example.load()
    manifest, process = package.manifest, package.process("inbound-email-triage")
    assert str(manifest.mark("policy", "approval", "timeout")) == "expert.yaml:23"
    assert str(manifest.mark("requires", "tools", 2)) == "expert.yaml:12"
    assert str(package.triggers[1].mark("tz")) == "expert.yaml:84"
    assert str(package.triggers[1].at) == "expert.yaml:80"
    assert str(process.mark("functions", 1)) == f"{TRIAGE}:22"
    assert str(process.mark("delivery", "sla")) == f"{TRIAGE}:36"
    assert str(package.tool("email").operation("send").mark("approval")) == "tools/email.yaml:52"
    assert str(manifest.policy.approval.overrides["email.send"].at) == "expert.yaml:32"


def test_a_mark_of_nothing_is_as_near_as_possible(clean: PackageOnDisk) -> None:
    process = clean.load().process("triage")
    assert process.mark("inputs", 9) == process.mark("inputs")
    assert process.mark("inputs", 0, "gone").line == clean.line("processes/triage.md", "- name: mail_id")


# Encodings


def everything_but_files(package: Package) -> tuple[object, ...]:
    return (
        *(package.manifest, package.orchestrator, package.persona, package.functions, package.processes),
        *(package.tools, package.knowledge, package.state),
    )


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_bom_and_other_newlines_load_the_same(example: PackageOnDisk, newline: str) -> None:
    before = example.load()
    for entry in before.entries:
        text = "\ufeff" + example.text(entry.path).replace("\n", newline)
        example.write(entry.path, text)
    after = example.load()
    assert everything_but_files(after) == everything_but_files(before)
    assert after.process("inbound-email-triage").mark("delivery", "sla").line == 36
    assert after.digest != before.digest


# Knowledge that is private


def test_private_knowledge_is_in_no_index(clean: PackageOnDisk) -> None:
    clean.replace("knowledge/facts.md", "name: facts", "name: facts\ntype: private")
    package = clean.load()
    assert [item.name for item in package.knowledge] == ["facts"]
    assert package.knowledge[0].private
    assert package.public_knowledge == ()


# Digest and snapshot


def test_the_digest_is_the_same_for_the_same_files(clean: PackageOnDisk) -> None:
    assert clean.load().digest == clean.load().digest
    assert len(clean.load().digest) == 64


def test_the_digest_changes_with_any_byte(clean: PackageOnDisk) -> None:
    before = clean.load()
    for entry in before.entries:
        data = (clean.root / entry.path).read_bytes()
        clean.write(entry.path, data + b" ")
        assert clean.read().package.digest != before.digest, entry.path
        clean.write(entry.path, data)
    assert clean.load().digest == before.digest


def test_the_digest_changes_with_a_name(clean: PackageOnDisk) -> None:
    clean.write("notes-1.txt", "x")
    before = clean.load().digest
    (clean.root / "notes-1.txt").rename(clean.root / "notes-2.txt")
    assert clean.load().digest != before


def test_the_digest_tells_where_one_file_ends(clean: PackageOnDisk) -> None:
    clean.write("a.txt", "one")
    clean.write("b.txt", "two")
    before = clean.load().digest
    clean.write("a.txt", "onet")
    clean.write("b.txt", "wo")
    assert clean.load().digest != before


def test_the_digest_changes_when_a_link_points_elsewhere(clean: PackageOnDisk) -> None:
    link = clean.root / "link.txt"
    link.symlink_to("README.md")
    before = clean.load().digest
    link.unlink()
    link.symlink_to("orchestrator.md")
    assert clean.load().digest != before


def test_bindings_git_and_times_are_not_in_the_digest(clean: PackageOnDisk) -> None:
    before = clean.load().digest
    clean.write("bindings.yaml", "tools: {}\n")
    clean.write(".git/HEAD", "ref: refs/heads/main\n")
    for path in clean.root.rglob("*"):
        os.utime(path, (1, 1))
    assert read_package(clean.root, installed=True).package.digest == before


def test_a_snapshot_is_the_package_under_its_digest(example: PackageOnDisk, tmp_path: Path) -> None:
    (example.root / "link.md").symlink_to("orchestrator.md")
    example.write(".git/HEAD", "ref")
    package = example.load()
    folder = take_snapshot(package, tmp_path / "snapshots")
    again = read_package(folder)
    assert folder == tmp_path / "snapshots" / package.digest
    assert again.package.digest == package.digest
    assert everything_but_files(again.package) == everything_but_files(package)
    assert not (folder / ".git").exists()


def test_a_snapshot_stays_when_the_package_changes(clean: PackageOnDisk, tmp_path: Path) -> None:
    before = clean.load()
    folder = take_snapshot(before, tmp_path / "snapshots")
    clean.append("orchestrator.md", "More.\n")
    other = take_snapshot(clean.load(), tmp_path / "snapshots")
    assert read_package(folder).package.digest == before.digest
    assert other != folder


def test_a_snapshot_is_taken_once(clean: PackageOnDisk, tmp_path: Path) -> None:
    first = take_snapshot(clean.load(), tmp_path / "snapshots")
    inode = first.stat().st_ino
    assert take_snapshot(clean.load(), tmp_path / "snapshots") == first
    assert first.stat().st_ino == inode
    assert [each for each in (tmp_path / "snapshots").iterdir() if each.is_dir()] == [first]


# What is left of a broken package


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "[]", "just words", "null", "42"])
def test_a_manifest_without_fields_gives_findings(clean: PackageOnDisk, text: str) -> None:
    clean.write("expert.yaml", text)
    codes = {finding.code for finding in clean.read().findings}
    assert "field-missing" in codes


def test_a_broken_part_leaves_the_others(clean: PackageOnDisk) -> None:
    clean.write("tools/crm.yaml", "name: [")
    reading = clean.read()
    assert not reading.findings.ok
    assert reading.package.process("triage") is not None
    assert reading.package.tools == ()
