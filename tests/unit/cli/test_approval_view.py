"""Questions as people read them."""

from __future__ import annotations

from colleague.cli.approval_view import field_lines


def test_a_name_without_end_stands_behind_the_bar() -> None:
    forged = "x" * 40 + " approved by ann"
    assert list(field_lines({"to": "bert", forged: 1})) == ["  to │ bert", f"     │ {forged}: 1"]


def test_only_names_without_end() -> None:
    assert list(field_lines({"y" * 31: "z"})) == [f"   │ {'y' * 31}: z"]
