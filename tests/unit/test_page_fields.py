"""Arguments as a person reads them, and what a form makes of them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from colleague.errors import UsageError
from colleague.gateway.page.decision_form import changes_of, decision_of, field_problem
from colleague.gateway.page.fields import editable_fields, readable_fields
from colleague.gateway.page.mail import mail_of
from colleague.run_document import ApprovalDocument

SCHEMA = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 1}, "cc": {"type": "string"}},
    "required": ["amount"],
}


def seen(arguments: Any) -> ApprovalDocument:
    return cast(ApprovalDocument, {"arguments": arguments, "parameters": SCHEMA})


@pytest.mark.parametrize(
    ("arguments", "kind", "shown"),
    [
        ({"amount": 45000, "currency": "USD"}, "money", "45,000 USD"),
        ({"total_cents": 1999}, "money", "19.99"),
        ({"price_eur": 12.5}, "money", "12.50 EUR"),
        ({"due": "2026-11-30"}, "date", "Mon 30 Nov 2026"),
        ({"at": "2026-11-30T14:05:00+10:00"}, "date", "Mon 30 Nov 2026, 14:05 UTC+10:00"),
        ({"at": "2026-11-30T14:05Z"}, "date", "Mon 30 Nov 2026, 14:05 UTC"),
        ({"due": "2026-13-45"}, "line", "2026-13-45"),
        ({"amount": True}, "switch", "yes"),
        ({"count": 45000}, "number", "45000"),
    ],
)
def test_money_and_dates(arguments: Any, kind: str, shown: str) -> None:
    field = readable_fields(arguments)[0]
    assert (field.kind, field.shown) == (kind, shown)


def test_what_the_tool_would_take_besides() -> None:
    fields = editable_fields({"amount": 3}, SCHEMA)
    assert [(each.name, each.absent) for each in fields] == [("amount", False), ("cc", True)]


@pytest.mark.parametrize(
    ("form", "changes"),
    [
        ({"field:amount": "3", "field:cc": ""}, {}),
        ({"field:amount": "4", "field:cc": "a@b.example"}, {"amount": 4, "cc": "a@b.example"}),
    ],
)
def test_only_what_was_changed(form: dict[str, str], changes: dict[str, Any]) -> None:
    assert changes_of(seen({"amount": 3}), form) == changes


@pytest.mark.parametrize(
    ("text", "problem"),
    [("5", ""), ("0", "0 is less than the minimum of 1"), ("x", "amount is not a number")],
)
def test_one_field_is_checked(text: str, problem: str) -> None:
    assert field_problem(seen({"amount": 3}), {"field:amount": text}, "amount") == problem


@pytest.mark.parametrize(
    ("form", "grant", "only"),
    [
        ({}, None, []),
        ({"grant": "run"}, 0, []),
        ({"grant": "30m", "only:amount": "on"}, 1_800_000, ["amount"]),
    ],
)
def test_a_grant(form: dict[str, str], grant: int | None, only: list[str]) -> None:
    asked = decision_of(seen({"amount": 3}), {"decision": "approve", "digest": "d", **form}, "anna")
    assert (asked.grant_ms, asked.grant_only, asked.by) == (grant, only, "anna")


@pytest.mark.parametrize("form", [{}, {"decision": "perhaps"}, {"decision": "approve", "grant": "soon"}])
def test_forms_that_make_no_sense(form: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        decision_of(seen({"amount": 3}), {"digest": "d", **form}, "anna")


MAIL = {"to": "a@b.example", "subject": "Hi & bye?", "body": "One\nTwo"}


class TestMail:
    def test_a_link_for_a_mail_program(self) -> None:
        found = mail_of(MAIL)
        assert found is not None
        assert found.link == "mailto:a@b.example?subject=Hi%20%26%20bye%3F&body=One%0D%0ATwo"

    def test_no_header_is_added_by_an_address(self) -> None:
        found = mail_of({**MAIL, "to": "a@b.example?bcc=eve@evil.example\r\nX: y"})
        assert found is not None
        assert "?bcc" not in found.link
        assert "\r" not in found.link

    def test_a_long_text_is_left_to_be_copied(self) -> None:
        found = mail_of({**MAIL, "body": "x" * 5_000})
        assert found is not None
        assert "body" not in found.link

    @pytest.mark.parametrize(
        "document",
        [None, [], {"subject": "a", "body": "b"}, {"to": "a@b.example", "subject": 1, "body": "b"}],
    )
    def test_what_is_no_mail(self, document: Any) -> None:
        assert mail_of(document) is None
