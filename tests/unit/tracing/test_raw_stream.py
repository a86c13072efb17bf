"""Pieces of answers: as they came, unless one of them hides a part of a secret."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from colleague.agent.models.delta import TextDelta, ToolCallDelta
from colleague.agent.tracing.raw_stream import MOST_PIECES, Pieces
from colleague.agent.tracing.record import Cleaner

KEY = "odd secret-words"


def told(*deltas: TextDelta | ToolCallDelta, secrets: tuple[str, ...] = (KEY,)) -> list[dict[str, object]]:
    pieces = Pieces()
    for delta in deltas:
        pieces.add(delta)
    return list(pieces.documents({"run": "r"}, Cleaner(secrets=secrets)))


def test_pieces_are_told_as_they_came() -> None:
    found = told(TextDelta(0, "Good "), TextDelta(0, "day."), ToolCallDelta(1, "c1", "ls", '{"a'))
    assert [each["text"] for each in found] == ["Good ", "day.", '{"a']
    assert found[2]["name"] == "ls"
    assert all(each["run"] == "r" for each in found)


@given(st.lists(st.integers(0, 45), max_size=6))
def test_a_secret_is_found_however_it_is_split(cuts: list[int]) -> None:
    text = f"the key is {KEY}, do not tell"
    places = [0, *sorted(cuts), len(text)]
    pieces = [TextDelta(0, text[a:b]) for a, b in pairwise(places)]
    whole = "".join(str(each["text"]) for each in told(*pieces, TextDelta(1, "plain")))
    assert whole == "the key is [hidden], do not tellplain"


def test_an_answer_without_end_is_counted() -> None:
    pieces = Pieces()
    for _ in range(MOST_PIECES + 7):
        pieces.add(TextDelta(0, "a"))
    found = list(pieces.documents({}, Cleaner()))
    assert len(found) == MOST_PIECES + 1
    assert found[-1]["pieces"] == 7
