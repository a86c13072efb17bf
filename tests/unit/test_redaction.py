"""Secrets in what is shown or written down."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.agent.models.resolved import Key, ResolvedModel
from colleague.redaction import HIDDEN, Redactor, redact

letters = st.characters(exclude_characters=HIDDEN, exclude_categories=["Cs"])
secrets = st.text(letters, min_size=6).filter(lambda text: len(text.strip()) >= 6)


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
    "text", ["model sk-mini not found", "or-else", "the task-manager-in-the-office failed", "***", ""]
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


def test_a_secret_is_hidden_in_every_form() -> None:
    hide = Redactor(['pa"ss word/with+signs', "Bearer abcdefgh", "-----BEGIN\nMIIEow\n-----END", "1"])
    assert hide("token abcdefgh.") == f"token {HIDDEN}."
    assert hide("with MIIEow in it") == f"with {HIDDEN} in it"
    assert hide('{"p": "word/with+signs"}') == f'{{"p": "{HIDDEN}"}}'
    assert hide("?p=word%2Fwith%2Bsigns") == f"?p={HIDDEN}"
    assert hide("/word/with%2Bsigns") == f"/{HIDDEN}"
    assert hide("1 of 10") == "1 of 10"


def test_the_word_bearer_is_no_secret() -> None:
    assert Redactor(["Bearer abcdefgh"])("a Bearer token is missing") == "a Bearer token is missing"


@pytest.mark.parametrize("none", [[], [""], ["12345"], ["  \n "]])
def test_without_secrets_nothing_is_hidden(none: list[str]) -> None:
    assert Redactor(none)("nothing to hide  \n 12345") == "nothing to hide  \n 12345"
    assert Redactor(none).longest == 0


@given(secrets, st.text(), st.text())
def test_a_given_secret_is_gone(secret: str, before: str, after: str) -> None:
    assert secret.strip() not in redact(before + secret + after, [secret])


@given(secrets, st.booleans())
def test_a_secret_is_gone_from_json_and_urls(secret: str, escaped: bool) -> None:
    line = redact(json.dumps({"key": secret.strip()}, ensure_ascii=escaped), [secret])
    assert json.loads(line)["key"] == HIDDEN
    hide = Redactor([secret])
    assert hide(f"https://host/{quote(secret.strip())}") == f"https://host/{HIDDEN}"
    assert hide("https://host/?" + urlencode({"q": secret.strip()})) == f"https://host/?q={HIDDEN}"


def test_longer_secrets_go_first() -> None:
    model = ResolvedModel("a", "b", key=Key("secret-one", "K"), headers=(("H", "Bearer secret-one"),))
    assert redact("x Bearer secret-one y", model.secrets) == f"x {HIDDEN} y"
