"""Private text in an encoding that is cheap to undo is found, and ordinary text is left alone."""

from __future__ import annotations

import base64
import html
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from colleague.experts.privacy.redactor import PrivateText

ROOT = Path(__file__).parents[3]
CODE = "KESTREL-7Q4X-ZW"
SENTENCE = "The lighthouse keeper signs every refund after midnight in green ink."
AMOUNT = "48713.59"
PRIVATE = PrivateText.of(
    [f"{SENTENCE} The code is {CODE}; the limit is 48,713.59 EUR.\nGrüße an Jürgen Köhler heute abend"]
)

Encode = Callable[[str], str]


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def lines(text: str, width: int = 16) -> str:
    return "\n".join(textwrap.wrap(text, width))


WAYS: dict[str, Encode] = {
    "base64": b64,
    "base64 without padding": lambda text: b64(text).rstrip("="),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 in lines": lambda text: lines(b64(text)),
    "base64 in quoted lines": lambda text: lines(b64(text)).replace("\n", "\n> "),
    "base64 in groups of four": lambda text: " ".join(textwrap.wrap(b64(text), 4)),
    "base64 in JSON": lambda text: json.dumps({"a": lines(b64(text), 60)}),
    "base64 in a URL": lambda text: f"https://h.example/?q={quote(b64(text))}",
    "base64 glued to a word": lambda text: f"data{b64(text)}",
    "base64 twice": lambda text: b64(b64(text)),
    "hex": lambda text: text.encode().hex(),
    "hex in capitals": lambda text: text.encode().hex().upper(),
    "hex with spaces": lambda text: text.encode().hex(" "),
    "hex with colons": lambda text: text.encode().hex(":"),
    "hex as bytes": lambda text: ", ".join(f"0x{byte:02x}" for byte in text.encode()),
    "hex escapes": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "hex of base64": lambda text: b64(text).encode().hex(),
    "base64 of hex": lambda text: b64(text.encode().hex()),
    "backwards": lambda text: text[::-1],
    "letter by letter": " ".join,
    "letter by letter with dashes": "-".join,
    "letter by letter in lines": "\n".join,
    "escaped for a URL": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "HTML entities": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "HTML entities in hex": lambda text: "".join(f"&#x{ord(char):x};" for char in text),
    "some HTML entities": lambda text: html.escape(text).replace("-", "&#45;").replace(".", "&#x2e;"),
}  # fmt: skip


@pytest.mark.parametrize(
    "secret", [CODE, SENTENCE, "midnight in green ink", AMOUNT, "Grüße an Jürgen Köhler"]
)
@pytest.mark.parametrize("way", WAYS)
def test_it_is_found(way: str, secret: str) -> None:
    written = WAYS[way](secret)
    text = f"Here you are: {written} :that is all"
    assert PRIVATE.leaks(text)
    shown = PRIVATE.redact(text)
    assert written not in shown
    assert shown.startswith("Here you")
    assert shown.endswith("that is all")
    assert not PRIVATE.leaks(shown)


@given(st.sampled_from(sorted(WAYS)), st.text(max_size=60), st.text(max_size=60))
def test_whatever_stands_around_it(way: str, left: str, right: str) -> None:
    text = f"{left} {WAYS[way](SENTENCE)} {right}"
    assume(not way.startswith("letter") or not (left[-9:] + right[:9]).strip())
    assert PRIVATE.leaks(text)
    assert not PRIVATE.leaks(PRIVATE.redact(text))


def test_json_stays_json() -> None:
    for written in (way(f"{SENTENCE} {CODE}") for way in WAYS.values()):
        document = {"a": written, "b": [f"x {written} y"]}
        shown = PRIVATE.redact(json.dumps(document))
        assert not PRIVATE.leaks(json.dumps(json.loads(shown)))


# Ordinary text


@given(
    st.text()
    | st.text("abcdefABCDEF0123456789+/=- \n")
    | st.binary().map(lambda data: base64.b64encode(data).decode())
    | st.binary().map(bytes.hex)
)
def test_ordinary_text_stays(text: str) -> None:
    private = PrivateText.of(["zyx wvu zut zsr\nQQQQQQ-99zz z9z9z9@zz.zz http://zz.zz/zzz 987654321.25"])
    assume(not private.leaks(text) or "z" in text.lower())
    assume("z" not in text.lower())
    assume("q" not in text.lower())
    assert private.redact(text) is text


@pytest.mark.parametrize("folder", ["docs", "src", "examples"])
def test_our_own_files_hide_nothing(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".md", ".py", ".yaml")]
    assert len(files) > 10
    private = PrivateText.of([f"{SENTENCE} {CODE} 48,713.59 EUR, 300 or 1,200 or $50; Bartholomew, REFUND"])
    found = {str(path): list(private._hidden(path.read_text())) for path in files}
    assert {path: spans for path, spans in found.items() if spans} == {}


@given(st.integers(0, 2**400), st.integers(100, 999))
def test_numbers_and_ids_are_no_hex_of_a_sum(number: int, secret: int) -> None:
    """Random digits decode to short texts; a sum of three digits among them is chance."""
    private = PrivateText.of([f"the limit is {secret} EUR"])
    text = f"{number:x}"
    assert list(private._hidden(text)) == [] or len(text) > 32
