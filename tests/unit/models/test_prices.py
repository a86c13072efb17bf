"""What an answer costs."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from colleague.agent.models.resolved import Prices, Usage

tokens = st.integers(0, 10_000_000)


def test_a_tenth_of_a_cent_is_not_lost() -> None:
    prices = Prices(input=Decimal("0.1"), output=Decimal("0.3"))
    assert prices.cost(Usage(1, 1)) == Decimal("0.0000004")
    assert sum(prices.cost(Usage(1, 1)) for _ in range(1000)) == Decimal("0.0004")


def test_cached_tokens_are_part_of_the_input() -> None:
    prices = Prices(Decimal(10), Decimal(0), Decimal(1), Decimal(20))
    assert prices.cost(Usage(1_000_000, 0, 600_000, 100_000)) == Decimal("3") + Decimal("0.6") + Decimal("2")


@given(tokens, tokens, tokens, tokens)
def test_a_cost_is_never_negative(sent: int, said: int, read: int, written: int) -> None:
    assert Prices(Decimal(3), Decimal(15), Decimal("0.3")).cost(Usage(sent, said, read, written)) >= 0
