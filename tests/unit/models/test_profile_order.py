"""The order in which auth profiles are tried."""

from __future__ import annotations

from colleague.agent.models.keyring import Profile
from colleague.agent.models.profile_order import ordered_profiles

KEY_A = Profile("a", "p", "api_key", "")
KEY_B = Profile("b", "p", "api_key", "")
TOKEN = Profile("t", "p", "token", "")
OAUTH = Profile("o", "p", "oauth", "")
OWN = Profile("p:default", "p", "api_key", "", own=True)
ALL = [OWN, KEY_A, KEY_B, TOKEN, OAUTH]


def names(**more: object) -> list[str]:
    return [each.name for each in ordered_profiles(ALL, **more)]  # type: ignore[arg-type]


def test_by_kind_and_the_providers_own_key_last() -> None:
    assert names() == ["o", "t", "a", "b", "p:default"]


def test_the_one_that_rested_longest_comes_first_within_its_kind() -> None:
    used = {"a": 20, "b": 10, "o": 99}
    assert names(last_used=lambda name: used.get(name, 0)) == ["o", "t", "b", "a", "p:default"]


def test_the_first_order_that_is_set_counts_and_the_rest_follows() -> None:
    assert names(orders=[(), ("b", "gone", "t"), ("a",)]) == ["b", "t", "o", "a", "p:default"]
    assert names(orders=[("p:default",)]) == ["p:default", "o", "t", "a", "b"]


def test_what_a_person_chose_is_the_very_first() -> None:
    assert names(preferred="p:default", orders=[("b",)])[:2] == ["p:default", "b"]
