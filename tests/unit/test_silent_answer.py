from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from colleague.silent_answer import AnswerStream, shown_answer, shown_heartbeat, shown_so_far


@pytest.mark.parametrize(
    "answer",
    ["NO_REPLY", " NO_REPLY\n", "**NO_REPLY**", "`NO_REPLY`", "NO_REPLY.", "HEARTBEAT_OK", "\nNO_REPLY"],
)
def test_the_word_alone_is_silent(answer: str) -> None:
    assert shown_answer(answer).silent


@pytest.mark.parametrize("answer", ["", "Done.", "no_reply", "NO_REPLY_NEEDED", "I said NO_REPLY once."])
def test_what_is_not_the_word_is_shown_as_it_is(answer: str) -> None:
    shown = shown_answer(answer)
    assert shown.text == answer
    assert not shown.silent


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("NO_REPLY\n\nI sent it.", "I sent it."),
        ("I sent it.\nNO_REPLY", "I sent it."),
        ("I sent it. NO_REPLY", "I sent it."),
        ("The word is NO_REPLY", "The word is NO_REPLY"),
        ("NO_REPLY is the word.", "NO_REPLY is the word."),
        ("  code\n\nNO_REPLY\n", "  code"),
        ("NO_REPLY\nNO_REPLY", ""),
    ],
)
def test_what_stands_beside_the_word_is_never_lost(answer: str, text: str) -> None:
    assert shown_answer(answer).text == text


@pytest.mark.parametrize(
    ("answer", "text", "silent"),
    [
        ("HEARTBEAT_OK", "", True),
        ("**HEARTBEAT_OK** - all quiet", "", True),
        ("All quiet. HEARTBEAT_OK", "", True),
        ("HEARTBEAT_OK " + "x" * 30, "", True),
        ("HEARTBEAT_OK " + "x" * 31, "x" * 31, False),
        ("The invoice of Lena is overdue.", "The invoice of Lena is overdue.", False),
        ("NO_REPLY", "", True),
        ("", "", False),
    ],
)
def test_heartbeats(answer: str, text: str, silent: bool) -> None:
    shown = shown_heartbeat(answer)
    assert (shown.text, shown.silent) == (text, silent)


def test_how_much_a_heartbeat_may_add_is_a_setting() -> None:
    assert not shown_heartbeat("HEARTBEAT_OK fine", ack_max_chars=0).silent
    assert shown_heartbeat("HEARTBEAT_OK", ack_max_chars=0).silent


def test_nothing_of_a_silent_answer_is_streamed() -> None:
    for word in ("NO_REPLY", "**NO_REPLY**", "HEARTBEAT_OK", "\n NO_REPLY\n"):
        assert [shown_so_far(word[:end]) for end in range(len(word) + 1)] == [""] * (len(word) + 1)


PIECES = st.lists(
    st.sampled_from(["NO_REPLY", "HEARTBEAT_OK", "NO", "_", " ", "\n", "Done.", "Hi", "**", "x", "N", "\t"])
)


@given(PIECES)
def test_what_was_streamed_is_the_beginning_of_what_is_shown(pieces: list[str]) -> None:
    answer = "".join(pieces)
    shown = shown_answer(answer).text
    for end in range(len(answer) + 1):
        assert shown.startswith(shown_so_far(answer[:end]))


@given(st.text(max_size=60))
def test_other_text_is_not_touched(text: str) -> None:
    if not any(word in text for word in ("NO_REPLY", "HEARTBEAT_OK", "REPLY_SKIP", "ANNOUNCE_SKIP")):
        assert shown_answer(text).text == text


WORDS = st.sampled_from(["NO_REPLY", "HEARTBEAT_OK", "Done. ", "word ", "\n", "NO_", " ", "x" * 150, "*"])


@example(["NO_REPLY", "\n", *["x" * 150] * 3, "word "], 3)
@given(st.lists(WORDS, max_size=30), st.integers(1, 9))
def test_a_stream_shows_a_beginning_of_what_is_shown_in_the_end(words: list[str], size: int) -> None:
    answer = "".join(words)
    stream = AnswerStream()
    shown = "".join(stream.add(answer[at : at + size]) for at in range(0, len(answer), size))
    whole = shown_answer(answer).text
    assert whole.startswith(shown)
    assert len(whole) - len(shown) <= 400
