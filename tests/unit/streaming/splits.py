"""Answers that models give, split in any way."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

PARTS = st.sampled_from(
    [
        *("<think>", "</think>", "<THINKING>", "</thinking >", "<thought a='b'>", "<think/>"),
        *("<final>", "</final>", "< final>", "<fin", "<thi", "</"),
        *("[[reply_to_current]]", "[[ reply_to: 42 ]]", "[[media:https://x.example/a.png]]"),
        *("[[audio_as_voice]]", "[[media:", "[[", "]]", "[", "[[media:]]"),
        *("`", "``", "```", "~~~", "```python", "\n", "\n\n", "    ", " ", "\t"),
        *("word", "Done. ", "<", ">", "x" * 90, "NO_REPLY", "HEARTBEAT_OK", "*"),
    ]
)
ANSWERS = st.lists(PARTS, max_size=25).map("".join)
CUTS = st.lists(st.integers(0, 400), max_size=60)


def split(text: str, cuts: list[int]) -> list[str]:
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    return [text[a:b] for a, b in itertools.pairwise(places)]
