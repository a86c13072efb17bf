"""Keys in the words of a provider."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.agent.models.resolved import Key, ResolvedModel
from colleague.redaction import HIDDEN, redact


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdefghijklmnop1234.",
        "key AIzaSyA-abcdefghijklmnopqrstuvw is not valid",
        "Authorization: Bearer abc.def.ghi-jkl failed",
        "GET /v1/models?key=abcdefgh&alt=sse",
    ],
)
def test_what_looks_like_a_key_is_hidden(text: str) -> None:
    assert HIDDEN in redact(text)
    assert "abc" not in redact(text).replace("alt", "")


@pytest.mark.parametrize(
    "text", ["model sk-mini not found", "or-else", "the task-manager-in-the-office failed"]
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


letters = st.characters(exclude_characters=HIDDEN)


@given(st.text(letters, min_size=6), st.text(), st.text())
def test_a_given_secret_is_gone(secret: str, before: str, after: str) -> None:
    assert secret not in redact(before + secret + after, [secret])


def test_longer_secrets_go_first() -> None:
    model = ResolvedModel("a", "b", key=Key("secret-one", "K"), headers=(("H", "Bearer secret-one"),))
    assert redact("x Bearer secret-one y", model.secrets) == f"x {HIDDEN} y"
