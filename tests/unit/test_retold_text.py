"""Text that comes again after it broke off is shown once, however it is cut into pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from colleague.retold_text import RetoldText


@given(st.text(max_size=30), st.data())
def test_the_same_text_goes_on_where_it_broke_off(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    retold, shown, left = RetoldText(text[:cut]), text[:cut], text
    while left:
        size = data.draw(st.integers(1, len(left)))
        shown += retold.add(left[:size])
        left = left[size:]
    assert (shown, retold.differs) == (text, False)


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=6))
def test_another_text_is_shown_whole(pieces: list[str]) -> None:
    retold = RetoldText("\x00" + "".join(pieces))
    assert "".join(retold.add(piece) for piece in pieces) == "".join(pieces)
    assert retold.differs
