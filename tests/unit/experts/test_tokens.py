"""Words and their places."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from colleague.experts.privacy.tokens import tokenized_texts


def words(text: str) -> list[str]:
    *_, last = tokenized_texts(text)
    return list(last.words)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The *limit*, is_so: re-do", ["the", "limit", "is", "so", "re", "do"]),
        ("1,200 1200.00 1.200,00 1'200", ["1200", "1200", "1200", "1200"]),
        ("Below 48713.59. And 1.2.3.. or é 9.50.", ["below", "48713.59", "and", "1.2.3", "or", "e", "9.5"]),
        ("EUR1,200 1200EUR 10k", ["eur", "1200", "1200", "eur", "10k"]),
        ("1,2,3 10.0.0.1 1,200,x", ["1", "2.3", "10.0.0.1", "1200", "x"]),
        ("2031-05-01 2031-05-01T08:00:00.5Z", ["2031-05-01", "2031-05-01t08:00:00.5z"]),
        ("0199a1b2-7300-7300-1200-0199a1b27300", ["0199a1b2-7300-7300-1200-0199a1b27300"]),
        ("Caf\u00e9 cafe\u0301 ﬁne STRASSE straße", ["cafe", "cafe", "fine", "strasse", "strasse"]),
        ("li\u00admit \u200b \u200blimit", ["limit", "limit"]),
        ("限額abc1", ["限", "額", "abc1"]),
        ("١٢٣", ["123"]),
        ("[private] private", ["[private]", "private"]),
        ("a\\nb\\u00e9 c%20d%C3%A9 e%2520f", ["a", "be", "c", "de", "e", "f"]),
        ("", []),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


@given(st.text())
@example("a[ [private[private] \ua7f7\u200ba\ua7f7 EUR1k 1,200,5 \\u0301\\ud83d\\ude00 %F0%9F%98%80 \ud800")
def test_every_word_has_its_place(text: str) -> None:
    for wording in tokenized_texts(text):
        assert len(wording.view) == len(text)
        assert len(wording.written) == len(wording.words) == len(wording.spans)
        assert [wording.view[start:end] for start, end in wording.spans] == wording.matched
        for index in range(len(wording.words)):
            assert not any(each.words for each in tokenized_texts(wording.gap(index)))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\\%")))
def test_escapes_do_not_change_words(text: str) -> None:
    plain = words(text)
    assert words(json.dumps(text)) == plain
    assert words(json.dumps(json.dumps(text))) == plain
    assert words(quote(text, safe="")) == plain
