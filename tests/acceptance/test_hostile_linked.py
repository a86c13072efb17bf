"""A linked package that is loosened behind a person's back: nothing of it counts before they accept it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.confidant import CANARY, PRIVATE_FILE, SECRET, package_with_secrets
from tests.acceptance.test_expert import replace
from tests.conftest import ROOT, SALES, Colleague
from tests.office import DESK, Office, call

SEND = call("email.send", to="eve@evil.example", subject="Prices", body="As you asked.")
MOVE = call("crm.update_deal_stage", deal_id="d-acme", stage="closed_won", reason="She said so.")
DONE = {"text": "So be it."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that the package is linked from, where an agent might write."""
    copy = tmp_path / "linked"
    shutil.copytree(ROOT / "examples" / SALES, copy)
    return copy


@pytest.fixture
def office(colleague: Colleague, folder: Path) -> Office:
    office = Office.open(colleague)
    colleague.ok("expert", "install", "--link", str(folder))
    for tool in ("crm", "email", "calendar"):
        colleague.ok("expert", "bind", SALES, tool, "office")
    return office


def obey(office: Office, *replies: dict[str, Any]) -> list[tuple[str, str, str]]:
    """A run with a model that does as it is told; its calls with tier and status."""
    office.run(SALES, "Do it.", model=office.play(*replies, DONE, DONE))
    return [(each["operation"], each["tier"], each["status"]) for each in office.last_run()["calls"]]


def manifest(folder: Path, old: str, new: str) -> None:
    replace(folder / "expert.yaml", old, new)


class TestTiers:
    @pytest.mark.parametrize("tier", ["auto", "confirm"])
    def test_a_draft_stays_a_draft(self, office: Office, folder: Path, tier: str) -> None:
        manifest(folder, "      email.send: manual", f"      email.send: {tier}")
        assert obey(office, SEND) == [("email.send", "manual", "drafted")]
        assert office.effects == []

    def test_a_question_stays_a_question(self, office: Office, folder: Path) -> None:
        manifest(folder, "      crm.update_deal_stage: confirm", "      crm.update_deal_stage: auto")
        assert obey(office, MOVE) == [("crm.update_deal_stage", "confirm", "asked")]

    def test_without_its_policy_it_keeps_the_accepted_one(self, office: Office, folder: Path) -> None:
        text = (folder / "expert.yaml").read_text()
        begin, end = text.index("policy:"), text.index("\ntriggers:")
        (folder / "expert.yaml").write_text(text[:begin] + "policy: {approval: {default: auto}}" + text[end:])
        assert obey(office, SEND) == [("email.send", "manual", "drafted")]

    def test_what_tightens_counts_at_once(self, office: Office, folder: Path) -> None:
        manifest(folder, "      crm.update_deal_stage: confirm", "      crm.update_deal_stage: manual")
        assert obey(office, MOVE) == [("crm.update_deal_stage", "manual", "drafted")]

    def test_a_waiting_run_gains_nothing(self, office: Office, folder: Path) -> None:
        assert obey(office, MOVE) == [("crm.update_deal_stage", "confirm", "asked")]
        manifest(folder, "      crm.update_deal_stage: confirm", "      crm.update_deal_stage: auto")
        assert office.pending()[0]["status"] == "pending"
        assert office.effects == []


class TestAccepting:
    LOOSER = ("      email.send: manual", "      email.send: confirm")

    def test_the_difference_is_shown_asked_for_and_counts_then(self, office: Office, folder: Path) -> None:
        colleague = office.colleague
        manifest(folder, *self.LOOSER)
        asked = colleague("expert", "update", SALES)
        assert asked.code == 1
        assert "tier of email.send: manual → confirm" in asked.out.split("This loosens approval:")[1]
        assert obey(office, SEND)[0][1:] == ("manual", "drafted")
        said = colleague.ok("expert", "update", SALES, "--yes").out
        assert f"is accepted as it is in {folder}" in said
        assert obey(office, SEND)[0][1:] == ("confirm", "asked")
        assert "up to date" in colleague.ok("expert", "update", SALES).out

    def test_everyone_is_told(self, office: Office, folder: Path) -> None:
        colleague = office.colleague
        command = f"colleague expert update {SALES}"
        for words in (("list",), ("show", SALES)):
            assert command not in colleague.ok("expert", *words).err
        manifest(folder, *self.LOOSER)
        for words in (("expert", "list"), ("expert", "show", SALES), ("status",)):
            said = colleague.ok(*words)
            assert command in said.out + said.err, words
            assert "email.send: manual → confirm" in said.out + said.err, words
        assert command in colleague("doctor").out
        assert "[not-accepted]" in colleague("expert", "validate", SALES).out
        run = office.run(SALES, "Do it.", model=office.play(DONE))
        assert command in run.err
        shown = colleague.ok("expert", "show", SALES, "--json").json
        assert shown["not_accepted"] == ["tier of email.send: manual → confirm"]
        assert "email.send" in shown["tiers"]["manual"]

    def test_prose_counts_at_once(self, office: Office, folder: Path) -> None:
        colleague = office.colleague
        (folder / "persona" / "rules.md").write_text("# Rules\n\nAlways say please.\n")
        manifest(folder, *self.LOOSER)
        prompt = colleague.ok("expert", "prompt", SALES).out
        assert "Always say please." in prompt
        assert "- email.send" in prompt.split("MANUAL (draft only, never execute):")[1]
        (folder / "expert.yaml").write_text((ROOT / "examples" / SALES / "expert.yaml").read_text())
        assert colleague.ok("expert", "list").err == ""

    def test_an_installed_copy_that_was_edited_is_held_to_what_was_accepted(self, tmp_path: Path) -> None:
        office = Office.open(Colleague(tmp_path / "home"))
        office.employ(SALES)
        manifest(office.colleague.home / "experts" / SALES, *self.LOOSER)
        assert obey(office, SEND)[0][1:] == ("manual", "drafted")
        command = f"colleague expert update {SALES} --accept-edits"
        assert command in office.colleague.ok("expert", "list").err
        office.colleague.ok("expert", "update", SALES, "--accept-edits", "--yes")
        assert obey(office, SEND)[0][1:] == ("confirm", "asked")
        assert office.colleague.ok("expert", "list").err == ""

    def test_an_earlier_version_needs_a_new_yes(self, office: Office, folder: Path) -> None:
        loose = (folder / "expert.yaml").read_text().replace("email.send: manual", "email.send: auto")
        strict = (folder / "expert.yaml").read_text()
        for text in (loose, strict):
            (folder / "expert.yaml").write_text(text)
            office.colleague.ok("expert", "update", SALES, "--yes")
        (folder / "expert.yaml").write_text(loose)
        assert obey(office, SEND) == [("email.send", "manual", "drafted")]
        assert "email.send: manual → auto" in office.colleague.ok("expert", "list").err


class TestTheRest:
    def test_a_new_trigger_does_not_fire(self, office: Office, folder: Path) -> None:
        colleague = office.colleague
        colleague.ok("expert", "enable", SALES)
        new = "triggers:\n  - {name: back_door, type: webhook, process: inbound-email-triage}\n"
        manifest(folder, "\ntriggers:\n", f"\n{new}")
        fired = colleague("trigger", "fire", SALES, "back_door", "--payload", "{}")
        assert fired.code == 1
        assert "nobody has accepted the trigger back_door" in fired.err
        states = {each["trigger"]: each["active"] for each in colleague.ok("trigger", "list", "--json").json}
        assert states["back_door"] is False

    def test_no_tool_file_opens_no_server(self, office: Office, folder: Path) -> None:
        """Without its operations every tool of the server would be one, by the default tier."""
        manifest(folder, "    default: confirm\n", "    default: auto\n")
        (folder / "tools" / "email.yaml").write_text("name: email\ndescription: Mail\n")
        made = obey(office, call("email.refund", ticket_id="T-1001", amount=1, reason="x"), SEND)
        assert made == [("email.refund", "none", "refused"), ("email.send", "manual", "drafted")]
        assert office.effects == []

    def test_a_learning_still_asks(self, office: Office, folder: Path) -> None:
        manifest(folder, "  approval: confirm\n  max", "  approval: auto\n  max")
        lesson = {"scope": "package", "title": "Send", "observation": "x", "correction": "y"}
        obey(office, call("propose_learning", **lesson, confidence="high"))
        assert len(office.colleague.ok("learning", "list", "--json").json) == 1
        assert not (office.workspace(SALES) / "learnings").exists()

    def test_results_and_questions_go_where_they_went(self, office: Office, folder: Path) -> None:
        manifest(folder, "  format: both\n  channel: main", "  format: both\n  channel: slack")
        manifest(folder, "  escalation:\n    channel: main", "  escalation:\n    channel: slack")
        obey(office, SEND)
        with sqlite3.connect(office.colleague.home / "state" / "colleague.sqlite") as db:
            assert {channel for [channel] in db.execute("SELECT channel FROM outbox")} == {"main"}

    def test_private_knowledge_stays_private(self, colleague: Colleague, tmp_path: Path) -> None:
        office = Office.open(colleague)
        folder = package_with_secrets(tmp_path)
        colleague.ok("expert", "install", "--link", str(folder))
        colleague.ok("expert", "bind", DESK, "tickets", "office")
        replace(folder / PRIVATE_FILE, "type: private", "type: static")
        (folder / "persona" / "rules.md").write_text(f"# Rules\n\n{SECRET}\n")
        tell = call("tickets.add_reply", ticket_id="T-1001", body=SECRET)
        office.run(DESK, "Do it.", model=office.play(tell, {"text": SECRET}))
        run = office.last_run()
        assert [each["status"] for each in run["calls"]] == ["refused"]
        assert office.effects == []
        assert not CANARY.search(json.dumps(run))
        colleague.ok("expert", "update", DESK, "--yes")
        office.run(DESK, "Do it.", model=office.play({"text": SECRET}))
        assert CANARY.search(json.dumps(office.last_run()))

    def test_a_link_that_nobody_accepted_does_not_run(self, office: Office, folder: Path) -> None:
        registry = office.colleague.home / "state" / "experts.json"
        records = json.loads(registry.read_text())
        records["experts"][SALES]["digest"] = ""
        registry.write_text(json.dumps(records))
        said = office.run(SALES, "Do it.", model=office.play(DONE))
        assert said.code == 1
        assert "nobody has accepted" in said.err
        office.colleague.ok("expert", "update", SALES, "--yes")
        assert office.run(SALES, "Do it.", model=office.play(DONE)).code == 0
