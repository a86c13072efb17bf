"""Names that every provider accepts, and back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.agent.models.tool_name import LONGEST, ProviderToolNames, safe_name, shown_name

ACCEPTED = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")

names = st.one_of(
    st.text(max_size=90),
    st.text(alphabet="ab_.-", max_size=12),
    st.text(alphabet="_-hx2f.", max_size=10),
    st.from_regex(r"[a-z]{1,9}\.[a-z_]{1,20}", fullmatch=True),
)


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("crm.get_contact", "crm__get_contact"),
        ("read", "read"),
        ("get-sum", "get-sum"),
        ("mail/send", "_-mail-2f-send"),
        ("a__b", "_-a__b"),
        ("a_.b", "_-a_-2e-b"),
        ("1st", "_-1st"),
        ("_-a", "_-_-2d-a"),
        ("", "_-"),
    ],
)
def test_what_it_looks_like(name: str, safe: str) -> None:
    assert safe_name(name) == safe
    assert shown_name(safe) == name


def test_a_long_name_keeps_its_beginning() -> None:
    safe = safe_name("warehouse.list_all_the_things_" + "x" * 60)
    assert len(safe) == LONGEST
    assert safe.startswith("_h-warehouse_list_all_the")


@given(names)
def test_every_provider_accepts_it(name: str) -> None:
    assert ACCEPTED.fullmatch(safe_name(name))


@given(names)
def test_a_name_that_fits_comes_back_from_its_form_alone(name: str) -> None:
    safe = safe_name(name)
    assert safe.startswith("_h-") or shown_name(safe) == name


@given(st.sets(names, max_size=20))
def test_no_two_names_share_a_form_and_all_come_back(offered: set[str]) -> None:
    table = ProviderToolNames.of(offered)
    assert len({safe_name(name) for name in offered}) == len(offered)
    assert {table.shown(safe_name(name)) for name in offered} == offered


@given(st.text(max_size=70))
def test_whatever_a_model_calls_is_shown_somehow(called: str) -> None:
    assert isinstance(ProviderToolNames.of(["crm.get_contact"]).shown(called), str)


@given(st.text(alphabet="ab_.-hx2f", max_size=30))
def test_a_form_names_only_what_has_that_form(called: str) -> None:
    """A model that makes up a name cannot hit a tool under a second spelling."""
    shown = shown_name(called)
    assert shown == called or safe_name(shown) == called
