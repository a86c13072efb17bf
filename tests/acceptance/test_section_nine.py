"""The runtime examples of the loader design, step by step, in the demo office: by command, from the webhook,
and from the clock."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.served_office import ServedOffice, push
from tests.conftest import SALES, Colleague
from tests.office import Office, call, calls, step

TRIAGE = ("--process", "inbound-email-triage", "--input", "message_id=m-acme-pricing")
PAD = "scratch/triage-m-acme-pricing.md"
CLASSIFIED = {
    "intent": "buying_signal",
    "urgency": "high",
    "summary": "Sarah wants Enterprise pricing for 120 responders before Friday.",
    "evidence": "Can you send Enterprise pricing for about 120 responders?",
    "confidence": "high",
}
ACTION = {
    "action": "schedule_demo",
    "owner": "tom@radiant.example",
    "due": "2026-11-20",
    "stage_change": True,
    "stage": "proposal",
    "reason": "She asks for a price with a date and brings in the head of platform.",
    "gaps": ["economic buyer"],
    "question": "Who signs?",
    "also": "",
    "confidence": "high",
}
DRAFT = {"to": "sarah.chen@acme.example", "subject": "Re: Enterprise pricing", "body": "Hi Sarah, ..."}
MOVED = "## Movements\n\n- d-acme: proposal"
NARRATIVE = (
    "Buying signal from Sarah at Acme (Stage 3, $45k). She's asking about enterprise pricing - looks ready "
    "to move. Draft reply ready for your review."
)


@pytest.fixture
def sales(colleague: Colleague, package: Path) -> Office:
    """The example, with a short pause between attempts."""
    manifest = package / "expert.yaml"
    manifest.write_text(manifest.read_text().replace("delay: 30s", "delay: 1s"))
    office = Office.open(colleague)
    office.employ(SALES, package)
    return office


def outputs_of(package: Path, function: str) -> dict[str, Any]:
    """Outputs that fit what the function declares, with what the story says where it says something."""
    from colleague.experts.rehearsal.sample import sample
    from colleague.packages.package import read_package
    from colleague.packages.parameter import object_schema

    read = read_package(package).package
    assert read is not None
    found = read.function(function)
    assert found is not None
    story = CLASSIFIED | ACTION | {"confidence": "high"}
    made: dict[str, Any] = sample(object_schema(found.outputs))
    return made | {name: story[name] for name in made if name in story}


def first_half(package: Path) -> list[dict[str, Any]]:
    return [
        call("write", path=PAD, text="# m-acme-pricing\n"),
        step(1),
        call("email.get_email", message_id="m-acme-pricing"),
        step(2),
        call("crm.get_contact", email="sarah.chen@acme.example"),
        step(3),
        call("crm.get_deal", contact_id="c-sarah"),
    ]


def second_half(package: Path) -> list[dict[str, Any]]:
    classified = outputs_of(package, "classify-email-intent")
    action = outputs_of(package, "determine-next-action")
    reply = outputs_of(package, "compose-response")
    return [
        step(4),
        call("read", path="functions/classify-email-intent.md"),
        call("function_result", function="classify-email-intent", outputs=classified),
        step(5),
        calls(
            ("read", {"path": "functions/determine-next-action.md"}),
            ("read", {"path": "knowledge/meddpicc.md"}),
        ),
        call("function_result", function="determine-next-action", outputs=action),
        step(6),
        call(
            "crm.update_deal_stage",
            "She asks for a price with a date.",
            deal_id="d-acme",
            stage="proposal",
            reason=ACTION["reason"],
        ),
        step(7),
        call("read", path="functions/compose-response.md"),
        call("function_result", function="compose-response", outputs=reply),
        step(8),
        call("email.send", **DRAFT),
        step(9),
        call("crm.create_note", contact_id="c-sarah", deal_id="d-acme", note="Buying signal; draft waits."),
        step(10),
        call("read", path="state/pipeline.md"),
        call("edit", path="state/pipeline.md", edits=[{"old": "## Movements", "new": MOVED}]),
        step(11),
        call(
            "complete",
            narrative=NARRATIVE,
            outputs={
                "classification": classified,
                "recommended_action": action | {"stage_change_result": "made"},
                "draft_response": reply,
            },
        ),
    ]


def test_a_mail_is_triaged_from_reading_to_delivery(sales: Office, package: Path) -> None:
    model = sales.play(*first_half(package), *second_half(package))

    said = sales.run(SALES, *TRIAGE, model=model)

    assert said.code == 4, said.err
    [asked] = sales.pending()
    assert (asked["kind"], asked["operation"]) == ("confirm", "crm.update_deal_stage")
    assert f"colleague approve {asked['id'][-8:]}" in said.err
    assert sales.effects == []
    assert (sales.workspace(SALES) / PAD).exists()

    said = sales.colleague("approve", asked["id"][-8:])

    assert said.code == 0, said.err
    assert NARRATIVE in said.out
    assert sales.effects == ["update_deal_stage", "create_note"]
    assert sales.rows("SELECT stage FROM deals WHERE deal_id = 'd-acme'") == [("proposal",)]
    assert sales.rows("SELECT count(*) FROM mails WHERE sent = 1") == [(0,)]
    assert "- d-acme: proposal" in (sales.workspace(SALES) / "state" / "pipeline.md").read_text()
    assert not (sales.workspace(SALES) / PAD).exists()
    run = sales.last_run()
    assert [each["status"] for each in run["steps"]] == ["done"] * 11
    assert run["outcome"] == "completed"
    assert set(run["outputs"]) == {"classification", "recommended_action", "draft_response"}
    assert run["delivery"]["status"] == "delivered"
    assert run["delivery"]["body"]["narrative"] == NARRATIVE
    assert set(run["delivery"]["body"]["outputs"]) == set(run["outputs"])
    [draft] = sales.pending()
    assert (draft["kind"], draft["operation"], draft["arguments"]) == ("draft", "email.send", DRAFT)
    assert NARRATIVE[:40] in sales.colleague.ok("status", "--all").out


def test_a_failed_call_is_retried_and_resumed(colleague: Colleague, package: Path) -> None:
    manifest = package / "expert.yaml"
    manifest.write_text(manifest.read_text().replace("delay: 30s", "delay: 1s"))
    sales = Office.open(colleague, "--fail", "get_deal=1")
    sales.employ(SALES, package)
    model = sales.play(
        *first_half(package),
        step(4, "failed", "crm.get_deal: API timeout"),
        call("read", path=PAD),
        call("crm.get_deal", contact_id="c-sarah"),
        *second_half(package),
    )

    said = sales.run(SALES, *TRIAGE, model=model)

    assert said.code == 4, said.err
    assert re.search(r"API timeout; next attempt in [01] s", said.err), said.err
    assert (sales.workspace(SALES) / PAD).read_text() == "# m-acme-pricing\n"
    sales.colleague.ok("approve", sales.pending()[0]["id"])
    run = sales.last_run()
    assert [each["outcome"] for each in run["attempts"]] == ["failed", "completed"]
    assert sales.effects == ["update_deal_stage", "create_note"]
    fetched = [
        each["operation"] for each in run["calls"] if each["operation"].startswith(("email", "crm.get"))
    ]
    assert fetched == ["email.get_email", "crm.get_contact", "crm.get_deal", "crm.get_deal", "email.send"]
    said_again = (sales.colleague.home / "play.log").read_text()
    assert "Steps that are done: 1, 2, 3. Go on with step 4" in said_again
    assert "Step 4 failed: crm.get_deal: API timeout" in said_again


def test_a_person_asks_about_the_pipeline(sales: Office) -> None:
    model = sales.play(
        call("read", path="state/pipeline.md"), {"text": "Five open deals; Acme is the one to work on."}
    )

    said = sales.run(SALES, "What's my pipeline looking like?", model=model)

    assert said.code == 0, said.err
    assert "Acme is the one to work on" in said.out
    run = sales.last_run()
    assert (run["process"], run["lane"]) == ("", f"{SALES}/session")
    assert run["delivery"]["body"]["narrative"] == "Five open deals; Acme is the one to work on."


def test_from_googles_push_to_what_the_owner_reads(colleague: Colleague, package: Path) -> None:
    """The first example, from outside: a push at the gateway, a yes over HTTP, a delivery that is read."""
    sales = ServedOffice.open(colleague, package)
    sales.play(*first_half(package), *second_half(package))
    assert "new_email (webhook/gmail)" in sales.type("expert", "enable", SALES).out
    validated = sales.type("expert", "validate", SALES)
    assert validated.out.count("✓") == 7, validated.out
    with sales.serving():
        assert sales.started == [f"Colleague listens on {sales.url}; enabled experts: {SALES}\n"]
        pushed = sales.resolved(push("1", 1001))
        assert (pushed["source"], pushed["outcome"]) == ("pubsub", "completed")
        assert pushed["reason"] == "1 new messages, 0 known ones"

        run = sales.run("waiting", message_id="m-acme-pricing")
        assert run["lane"] == f"{SALES}/contact_id/sarah.chen@acme.example"
        event = sales.get(f"/api/events/{run['event_id']}")
        assert event["accepted"]["at"]
        assert (event["run"]["status"], event["delivery"]) == ("waiting", None)
        [asked] = sales.get("/api/approvals")
        assert (asked["kind"], asked["operation"]) == ("confirm", "crm.update_deal_stage")
        assert sales.office.effects == []
        again = sales.post("/hooks/gmail", push("1", 1001))
        assert (again.status_code, again.json()["events"][0]["duplicate"]) == (200, True)

        body = {"decision": "approve", "digest": asked["digest"], "by": "dylan"}
        token = {"Authorization": "Bearer a-token-of-the-gateway"}
        assert sales.post(f"/api/approvals/{asked['id']}", body, **token).status_code == 200

        run = sales.run("done", message_id="m-acme-pricing")
        assert (run["outcome"], [each["status"] for each in run["steps"]]) == ("completed", ["done"] * 11)
        assert sales.office.effects == ["update_deal_stage", "create_note"]
        assert sales.office.rows("SELECT count(*) FROM mails WHERE sent = 1") == [(0,)]
        assert "- d-acme: proposal" in (sales.office.workspace(SALES) / "state" / "pipeline.md").read_text()
        sales.until(lambda: not (sales.office.workspace(SALES) / PAD).exists())
        [draft] = sales.get("/api/approvals")
        assert (draft["kind"], draft["arguments"]) == ("draft", DRAFT)

        waits = sales.until(lambda: sales.get("/api/deliveries"))
        assert [(each["status"], each["error"]) for each in waits] == [("waiting", "main has no reader yet")]
        assert NARRATIVE in sales.type("delivery", "read", waits[0]["id"][-8:]).out
        event = sales.get(f"/api/events/{run['event_id']}")
        assert (event["outcome"], event["delivery"]["status"]) == ("completed", "delivered")


def test_from_the_clock_over_a_failure_to_what_the_owner_reads(colleague: Colleague, package: Path) -> None:
    """The second example, begun by a schedule whose time comes while the gateway runs."""
    soon = datetime.now(UTC) + timedelta(seconds=40)
    manifest = package / "expert.yaml"
    text = manifest.read_text().replace("delay: 30s", "delay: 1s").replace("Australia/Sydney", "UTC")
    manifest.write_text(text.replace("0 8 * * 1-5", f"{soon.second} {soon.minute} {soon.hour} * * *"))
    sales = ServedOffice.open(colleague, package, "--fail", "list_deals=1")
    told = "Looked at 5 open deals; none needs you this morning."
    sales.play(
        call("write", path="scratch/opportunity-scan.md", text="# today\n"),
        step(1),
        call("crm.list_deals"),
        step(2, "failed", "crm.list_deals: API timeout"),
        call("read", path="scratch/opportunity-scan.md"),
        call("crm.list_deals"),
        step(2),
        *(step(number, "skipped", "no deal needs anybody") for number in range(3, 11)),
        call("complete", narrative=told, outputs={"opportunities": []}),
    )
    sales.type("expert", "enable", SALES)
    with sales.serving():
        [tick] = [each for each in sales.get("/api/triggers") if each["type"] == "cron"]
        assert datetime.fromisoformat(tick["next_at"]) == soon.replace(microsecond=0), "it is still to come"
        run = sales.run("done")
        assert (run["process"], run["outcome"]) == ("scan-for-opportunities", "completed")
        assert [each["outcome"] for each in run["attempts"]] == ["failed", "completed"]
        event = sales.get(f"/api/events/{run['event_id']}")
        assert (event["trigger"], event["source"]) == ("opportunity_scan", "cron")
        waits = sales.until(lambda: sales.get("/api/deliveries"))
        assert [each["status"] for each in waits] == ["waiting"]
        assert told in sales.type("status").out
        assert told in sales.type("delivery", "read", "--all").out
        delivery = sales.get(f"/api/events/{run['event_id']}")["delivery"]
        assert (delivery["status"], delivery["channel"]) == ("delivered", "main")
        assert len(sales.get("/api/runs")) == 1
