"""colleague expert update: in the open, asked for, all or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.test_expert import configure, replace
from tests.conftest import SALES, Colleague, tree


def release(package: Path, version: str, *changes: tuple[str, str]) -> None:
    replace(package / "expert.yaml", 'version: "0.1.0"', f'version: "{version}"')
    for old, new in changes:
        replace(package / "expert.yaml", old, new)


def test_nothing_new(installed: Colleague) -> None:
    assert "is up to date" in installed.ok("expert", "update", SALES).out
    assert installed.ok("expert", "update", "--all", "--json").json[0]["status"] == "current"


@pytest.mark.parametrize(
    ("version", "code"), [("0.1.1", 0), ("0.2.0", 0), ("1.0.0", 1), ("0.0.9", 1), ("next", 1)]
)
def test_patch_and_minor_apply_and_major_needs_force(
    installed: Colleague, package: Path, version: str, code: int
) -> None:
    before = tree(installed.expert())
    release(package, version)
    assert installed("expert", "update", SALES).code == code
    assert (tree(installed.expert()) == before) is (code == 1)
    installed.ok("expert", "update", SALES, "--force")
    assert installed.ok("expert", "list", "--json").json[0]["version"] == version


LOOSER = [
    (
        ("      crm.update_deal_stage: confirm", "      crm.update_deal_stage: auto"),
        "tier of crm.update_deal_stage",
    ),
    (("      email.send: manual", "      email.send: confirm"), "tier of email.send: manual → confirm"),
    (("    default: confirm\n", "    default: auto\n"), "default tier: confirm → auto"),
    (("    - calendar\n", "    - calendar\n    - phone\n"), "new tool: phone"),
    (
        ("triggers:\n", "triggers:\n  - {name: extra, type: webhook, process: inbound-email-triage}\n"),
        "new trigger: extra (webhook) → inbound-email-triage",
    ),
]


@pytest.mark.parametrize(("change", "told"), LOOSER, ids=[told for _, told in LOOSER])
def test_what_loosens_approval_is_pointed_out_and_asks(
    installed: Colleague, package: Path, change: tuple[str, str], told: str
) -> None:
    before = tree(installed.expert())
    release(package, "0.1.1", change)
    asked = installed("expert", "update", SALES)
    assert asked.code == 1
    assert told in asked.out.split("This loosens approval:")[1]
    assert "--yes" in asked.err
    assert tree(installed.expert()) == before
    installed.ok("expert", "update", SALES, "--yes")
    assert tree(installed.expert()) != before


def test_force_alone_does_not_answer_the_question(installed: Colleague, package: Path) -> None:
    release(package, "2.0.0", LOOSER[0][0])
    assert installed("expert", "update", SALES, "--force").code == 1
    installed.ok("expert", "update", SALES, "--force", "--yes")


def test_tightening_does_not_ask(installed: Colleague, package: Path) -> None:
    release(package, "0.1.1", ("      crm.create_note: auto", "      crm.create_note: manual"))
    said = installed.ok("expert", "update", SALES)
    assert "tier of crm.create_note: auto → manual" in said.out
    assert "loosens" not in said.out


def test_new_state_templates_appear_and_changed_ones_never_overwrite(
    installed: Colleague, package: Path
) -> None:
    state = installed.home / "workspace" / "expert-state" / SALES / "state"
    (state / "pipeline.md").write_text("Acme: stage 3\n")
    (package / "state" / "pipeline.md").write_text("a new template\n")
    (package / "state" / "wins.md").write_text("# Wins\n")
    release(package, "0.2.0", ("    - state/pipeline.md", "    - state/pipeline.md\n    - state/wins.md"))
    said = installed.ok("expert", "update", SALES)
    assert "new state file: state/wins.md" in said.out
    assert "changed template state/pipeline.md: your file stays as it is" in said.out
    assert (state / "pipeline.md").read_text() == "Acme: stage 3\n"
    assert (state / "wins.md").read_text() == "# Wins\n"


def test_bindings_and_enabled_stay(installed: Colleague, package: Path) -> None:
    configure(installed)
    for tool in ("crm", "email", "calendar"):
        installed.ok("expert", "bind", SALES, tool, "hub")
    installed.ok("expert", "enable", SALES)
    release(package, "0.1.1")
    installed.ok("expert", "update", SALES)
    after = installed.ok("expert", "list", "--json").json[0]
    assert after["enabled"] is True
    assert after["tools"]["crm"] == "hub"


def test_a_broken_new_version_leaves_the_old_one_whole(installed: Colleague, package: Path) -> None:
    before = tree(installed.expert())
    release(package, "0.1.1")
    (package / "orchestrator.md").unlink()
    said = installed("expert", "update", SALES)
    assert said.code == 1
    assert "orchestrator.md does not exist" in said.err
    assert tree(installed.expert()) == before


def test_changes_made_by_hand_are_not_replaced_unseen(installed: Colleague, package: Path) -> None:
    (installed.expert() / "persona" / "rules.md").write_text("my own rules\n")
    release(package, "0.1.1")
    said = installed("expert", "update", SALES)
    assert said.code == 1
    assert "changed by hand" in said.err
    assert (installed.expert() / "persona" / "rules.md").read_text() == "my own rules\n"


def test_all_goes_on_after_one_that_fails(installed: Colleague, package: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    package.rename(gone)
    installed.ok("expert", "install", str(gone), "--name", "other")
    release(gone, "0.1.1")
    said = installed("expert", "update", "--all", "--json")
    assert said.code == 1
    assert {item["expert"]: item["status"] for item in said.json} == {"other": "updated", SALES: "refused"}


def test_update_needs_a_name_or_all(installed: Colleague) -> None:
    assert installed("expert", "update").code == 2
    assert installed("expert", "update", SALES, "--all").code == 2
