"""What an author writes into rehearsal.yaml, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from colleague.experts.rehearsal.case_text import filled_value
from colleague.experts.rehearsal.cases import RehearsalError, chosen_case
from colleague.experts.rehearsal.known import Known, SourcedDocument
from colleague.experts.rehearsal.rehearsal_file import StateLine
from colleague.experts.rehearsal.written import state_text
from colleague.packages.package import Package, read_package
from tests.conftest import ROOT

FRIDAY = {"received_at": "2026-11-20T09:00:00+00:00", "from": {"name": "Ada Byron"}, "subject": "Prices"}
BODY = "Hi Tom,\n\nwe like it. Could you send\nthe prices? Thanks.\n\nAda"


def known(**more: object) -> Known:
    deal = {"amount": 45000, "slots": [{"start": "10:00"}]}
    return Known(
        {},
        (),
        (
            SourcedDocument("crm.get_deal", deal),
            SourcedDocument("email.get_email", {**FRIDAY, "body": BODY, **more}),
        ),
    )


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Hi {email.get_email.from.name:first},", "Hi Ada,"),
        ("{crm.get_deal.amount} USD", "45,000 USD"),
        ("at {crm.get_deal.slots.0.start}", "at 10:00"),
        ("at {crm.get_deal.slots.9.start}", "at (unknown)"),
        ("by {date+0}", "by 2026-11-20"),
        ("by {day+1}", "by Monday 23 November"),
        ("{email.get_email.body:question}", "Could you send the prices?"),
        ("{calendar.nothing.x}", "(unknown)"),
        ("a set {like this} stays {it}", "a set {like this} stays {it}"),
    ],
)
def test_texts_are_filled_with_what_was_read(text: str, filled: str) -> None:
    assert filled_value({"a": [text]}, known()) == {"a": [filled]}


@pytest.fixture
def package(tmp_path: Path) -> Package:
    import shutil

    shutil.copytree(ROOT / "examples" / "radiant-sales-expert", tmp_path / "package")
    return read(tmp_path / "package")


def read(root: Path) -> Package:
    found = read_package(root).package
    assert found is not None
    return found


def written(package: Package, text: str) -> Package:
    (package.root / "rehearsal.yaml").write_text(text)
    return read(package.root)


def test_the_first_case_that_fits_counts(package: Package) -> None:
    cases = """
cases:
  - when: {email.get_email.body: "SEND THE  prices"}
    holds: {crm.get_deal.amount: [1, 45000]}
    narrative: "Prices for {email.get_email.from.name}."
  - narrative: Anything else.
"""
    package = written(package, cases)
    assert chosen_case(package, "inbound-email-triage", known()).narrative == "Prices for Ada Byron."
    assert chosen_case(package, "inbound-email-triage", Known()).narrative == "Anything else."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cases: [", "rehearsal.yaml:"),
        ("cases: [{wen: {}}]", "rehearsal.yaml:1: 'wen' is no field of a case"),
        ("cases: [{functions: {clasify: {}}}]", "rehearsal.yaml:1: there is no function 'clasify'"),
        ("cases: [{operations: {crm.sing: {}}}]", "rehearsal.yaml:1: there is no operation 'crm.sing'"),
        (
            "cases: [{functions: {classify-email-intent: {intent: joy}}}]",
            "rehearsal.yaml:1: intent is not what functions/classify-email-intent.md:",
        ),
    ],
)
def test_what_is_wrong_is_said(package: Package, text: str, said: str) -> None:
    with pytest.raises(RehearsalError) as told:
        chosen_case(written(package, text), "inbound-email-triage", Known())
    assert said in told.value.message


def test_a_line_stands_under_its_heading_once() -> None:
    before = "# Pipeline\n\n## Movements\n\nNewest first.\n\n## Watch list\n"
    line = StateLine(under="## Movements", line="- Acme moved.")
    after = "# Pipeline\n\n## Movements\n\nNewest first.\n\n- Acme moved.\n\n## Watch list\n"
    assert state_text(before, "a step", line) == after
    assert state_text(after, "a step", line) == after
    assert state_text("", "a step", line) == "- Acme moved.\n"
