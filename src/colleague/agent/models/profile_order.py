"""In which order the auth profiles of a provider are tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colleague.agent.models.keyring import Profile

_KINDS = {"oauth": 0, "token": 1, "api_key": 2, "aws-sdk": 3}


def ordered_profiles(
    found: Sequence[Profile],
    *,
    preferred: str = "",
    orders: Sequence[Sequence[str]] = (),
    last_used: Callable[[str], int] = lambda _: 0,
) -> list[Profile]:
    """The one a person chose; then the first order that is set; then by kind, the one that rested longest
    first, and the provider's own key last."""
    order = next((each for each in orders if each), ())
    places = {name: place for place, name in enumerate(order)}

    def rank(profile: Profile) -> tuple[int, ...]:
        if profile.name == preferred:
            return (0,)
        if profile.name in places:
            return 1, places[profile.name]
        return 2, profile.own, _KINDS[profile.mode], last_used(profile.name)

    return sorted(found, key=rank)
