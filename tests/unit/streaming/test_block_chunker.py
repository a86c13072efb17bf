from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.block_chunker import (
    BlockChunker,
    BlockChunking,
    BreakPreference,
    blocks_of,
)
from colleague.block_coalescer import BlockCoalescer, Coalescing

from .splits import CUTS, split

PARTS = ["word ", "Done. ", "\n", "\n\n", "```\n", "```py\n", "~~~\n", "x" * 30, "  ", "code();\n", "? ", "`"]
ANSWERS = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)
PREFERENCES: list[BreakPreference] = ["paragraph", "newline", "sentence"]
CHUNKINGS = st.builds(BlockChunking, st.integers(1, 60), st.integers(20, 90), st.sampled_from(PREFERENCES))


@given(ANSWERS, CUTS, CHUNKINGS)
def test_the_splits_change_nothing(answer: str, cuts: list[int], chunking: BlockChunking) -> None:
    chunker = BlockChunker(chunking)
    blocks = [block for piece in split(answer, cuts) for block in chunker.add(piece)]
    assert [*blocks, *chunker.finish()] == blocks_of(answer, chunking)


def _said(text: str) -> str:
    """Without space and the marks of code, which may be added where code is parted."""
    return re.sub(r"(?m)^ {0,3}(```|~~~).*$|\s", "", text)


@given(
    st.lists(st.sampled_from([each for each in PARTS if not set("`~") & set(each)])).map("".join), CHUNKINGS
)
def test_nothing_is_lost_and_no_block_is_too_long(answer: str, chunking: BlockChunking) -> None:
    blocks = blocks_of(answer, chunking)
    assert _said("\n".join(blocks)) == _said(answer)
    assert all(len(block) <= chunking.max_chars for block in blocks)


def test_it_breaks_where_it_reads_best() -> None:
    text = "One. Two is longer.\nThree.\n\nFour and so on. Five.\n\nSix."
    by = {preference: blocks_of(text, BlockChunking(5, 60, preference)) for preference in PREFERENCES}
    assert by["paragraph"] == ["One. Two is longer.\nThree.", "Four and so on. Five.", "Six."]
    assert by["newline"] == ["One. Two is longer.", "Three.", "Four and so on. Five.", "Six."]
    assert by["sentence"][:2] == ["One. Two is longer.", "Three."]
    assert blocks_of("aaa bbb ccc. ddd eee", BlockChunking(5, 16)) == ["aaa bbb ccc.", "ddd eee"]
    assert blocks_of("aaaa bbbb cccc", BlockChunking(2, 10)) == ["aaaa bbbb", "cccc"]


def test_only_a_word_longer_than_a_block_is_parted() -> None:
    assert blocks_of("go to " + "x" * 25 + " now", BlockChunking(4, 10)) == [
        *("go to", "x" * 10, "x" * 10, "xxxxx now")
    ]


def test_code_stays_whole_where_it_fits() -> None:
    code = "```py\none()\n\ntwo()\n```"
    text = f"Look:\n\n{code}\n\nAfter."
    assert blocks_of(text, BlockChunking(3, 30)) == ["Look:", code, "After."]
    assert blocks_of(text, BlockChunking(8, 60)) == [f"Look:\n\n{code}", "After."]


def test_code_that_is_too_long_is_closed_and_begun_again() -> None:
    lines = [f"line_{number}()" for number in range(12)]
    blocks = blocks_of("```py\n" + "\n".join(lines) + "\n```\n\nDone.", BlockChunking(10, 50))
    assert blocks[-1] == "Done."
    assert all(block.startswith("```py\n") and block.endswith("\n```") for block in blocks[:-1])
    assert _said("\n".join(blocks[:-1])) == "".join(lines)
    assert max(map(len, blocks)) <= 50


def _seconds(pieces: list[str], times: int) -> float:
    chunker = BlockChunker(BlockChunking())
    began = time.process_time()
    for _ in range(times):
        for piece in pieces:
            chunker.add(piece)
    chunker.finish()
    return time.process_time() - began


@pytest.mark.parametrize("pieces", [["word", " "], ["x"], ["\n"], ["```\n", "x"], ["a. ", "\n\n"], [" "]])
def test_the_cost_grows_with_the_length_and_no_faster(pieces: list[str]) -> None:
    short = min(_seconds(pieces, 500) for _ in range(3))
    assert _seconds(pieces, 5_000) < 40 * short


def test_small_blocks_are_joined() -> None:
    joining = BlockCoalescer(Coalescing(min_chars=10, max_chars=14, idle_ms=500))
    assert joining.add("one", 0) == []
    assert joining.add("two", 100) == []
    assert joining.idle(500) == []
    assert joining.idle(600) == ["one\n\ntwo"]
    assert joining.add("12345", 700) == []
    assert joining.add("1234567890", 800) == ["12345", "1234567890"]
    assert joining.add("end", 900) == []
    assert joining.finish() == ["end"]
    assert BlockCoalescer(Coalescing()).add("alone", 0) == ["alone"]
