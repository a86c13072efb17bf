from __future__ import annotations

import time
from collections.abc import Iterable

import pytest
from hypothesis import given

from colleague.agent.streaming.tag_stripper import StrippedAnswer, TagStripper, strip_tags

from .splits import ANSWERS, CUTS, split


def in_pieces(pieces: Iterable[str]) -> tuple[StrippedAnswer, str, str]:
    """The answer, and what was told of its text and reasoning while it came."""
    stripper, text, reasoning = TagStripper(), "", ""
    for piece in pieces:
        told = stripper.feed(piece)
        text = told.text if told.void else text + told.text
        reasoning += told.reasoning
    return stripper.finish(), text, reasoning


@given(ANSWERS, CUTS)
def test_the_splits_change_nothing(answer: str, cuts: list[int]) -> None:
    whole, text, _ = in_pieces(split(answer, cuts))
    assert whole == strip_tags(answer)
    fell_back = not text.strip() or "<final" in answer.lower().replace(" ", "")
    assert fell_back or whole.text.startswith(text.rstrip())


@given(ANSWERS)
def test_one_character_at_a_time_changes_nothing(answer: str) -> None:
    assert in_pieces(answer)[0] == strip_tags(answer)


@pytest.mark.parametrize(
    ("answer", "text", "reasoning"),
    [
        ("Hello.", "Hello.", ""),
        ("  as it is \n", "  as it is \n", ""),
        ("<think>a</think>\n\nHello", "Hello", "a"),
        ("One.<thinking>two</thinking> Three.", "One. Three.", "two"),
        ("A\n\n<think>x</think>\n\nB", "A\n\nB", "x"),
        ("<think>a<think>b</think>c</think>d", "d", "abc"),
        ("Hello <think>rest", "Hello", "rest"),
        ("<think>never closed", "never closed", ""),
        ("<think>only thought</think>", "", "only thought"),
        ("<think>a</think><think>b</think>c", "c", "a\nb"),
        ("<think>a<think>b</think>answer", "answer", "ab"),
        ("</think>after", "after", ""),
        ("<think/>A", "A", ""),
        ("<final>Yes.</final>", "Yes.", ""),
        ("draft <final>Yes.</final> after", "Yes.", ""),
        ("<final>One</final>, <final>two</final>", "Onetwo", ""),
        ("<think>t</think><final>Yes", "Yes", "t"),
        ("<think>forgot <final>Yes.</final>", "Yes.", "forgot"),
        ("<final></final>outside", "outside", ""),
        ("<think>```\ncode</think>Answer", "Answer", "```\ncode"),
        ("<think><final><think>x", "x", ""),
    ],
)
def test_thinking_and_final(answer: str, text: str, reasoning: str) -> None:
    stripped = strip_tags(answer)
    assert (stripped.text, stripped.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    "answer",
    [
        "Write `<think>` before it.",
        "Write ``<think> ` </think>`` so.",
        "```\n<think>no</think>\n[[reply_to_current]]\n```",
        "~~~~ xml\n<final>\n~~~\n</final>\n~~~~\n",
        "   ```\n[[media:a.png]]\n```",
        "```\nnever closed <think>",
        "a < b, <thinker>, <final answer>, [[link]], [x], `one",
        "[[media:never closed",
        "[[media:two\nlines]]",
    ],
)
def test_code_and_what_only_looks_like_a_tag_stay(answer: str) -> None:
    assert strip_tags(answer) == StrippedAnswer(answer)


def test_a_backtick_alone_is_no_code() -> None:
    assert strip_tags("It's 5` <think>x</think>long\nand `y").text == "It's 5` long\nand `y"


def test_directives_are_obeyed() -> None:
    stripped = strip_tags("[[reply_to_current]] See [[media: a b.png ]] and [[media:https://x/y]].")
    assert stripped == StrippedAnswer("See and .", "", ("a b.png", "https://x/y"), "current")
    stripped = strip_tags("[[ reply_to: m-1 ]]\n[[audio_as_voice]]\nHello")
    assert stripped == StrippedAnswer("Hello", "", (), "m-1", as_voice=True)
    assert strip_tags("<think>[[media:x]]</think>A") == StrippedAnswer("A", "[[media:x]]")


def test_what_was_told_before_final_is_void() -> None:
    stripper = TagStripper()
    assert stripper.feed("Let me see. ").text == "Let me see. "
    told = stripper.feed("<final>Yes")
    assert (told.text, told.void) == ("Yes", True)
    assert not stripper.feed("</final><final> and no</final>").void


def _seconds(pieces: list[str], times: int) -> float:
    stripper = TagStripper()
    began = time.process_time()
    for _ in range(times):
        for piece in pieces:
            stripper.feed(piece)
    stripper.finish()
    return time.process_time() - began


@pytest.mark.parametrize(
    "pieces", [["word", " "], ["<think>"], ["`", "a"], ["[[media:", "x"], ["\n"], ["`"], ["<"], ["[["]]
)
def test_the_cost_grows_with_the_length_and_no_faster(pieces: list[str]) -> None:
    """Ten times the pieces take about ten times as long; a quadratic cost would be a hundred times."""
    short = min(_seconds(pieces, 500) for _ in range(3))
    assert _seconds(pieces, 5_000) < 40 * short
