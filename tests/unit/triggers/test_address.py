"""From lines as mail programs, careless people and attackers write them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.triggers.address import bare_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ('"Sarah Chen" <Sarah@Acme.com>', "sarah@acme.com"),
        ("Sarah Chen <sarah@acme.com>", "sarah@acme.com"),
        ("sarah@acme.com", "sarah@acme.com"),
        ("  SARAH@ACME.COM ", "sarah@acme.com"),
        ("<sarah@acme.com>", "sarah@acme.com"),
        ("sarah@acme.com (Sarah Chen)", "sarah@acme.com"),
        ("Chen, Sarah <sarah@acme.com>", "sarah@acme.com"),
        ('"Chen, Sarah" <sarah@acme.com>', "sarah@acme.com"),
        ("sarah@acme.com <sarah@acme.com>", "sarah@acme.com"),
        ("=?utf-8?q?S=C3=A4rah?= <sarah@acme.com>", "sarah@acme.com"),
        ("Sarah\r\n <sarah@acme.com>", "sarah@acme.com"),
        ("Sarah <sarah+news@mail.acme.co.uk>", "sarah+news@mail.acme.co.uk"),
        ("Jürgen <jürgen@bücher.de>", "jürgen@bücher.de"),
        # The name is whatever the sender likes; the address is in the brackets.
        ("boss@acme.com <eve@evil.example>", "eve@evil.example"),
        ('"boss@acme.com" <eve@evil.example>', "eve@evil.example"),
        ('"Boss <boss@acme.com>" <eve@evil.example>', "eve@evil.example"),
        ('"a\\" <boss@acme.com>" <eve@evil.example>', "eve@evil.example"),
    ],
)
def test_the_senders_address(text: str, address: str) -> None:
    assert bare_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sarah Chen",
        "@",
        "sarah@",
        "@acme.com",
        "a b@acme.com",
        "sarah@acme.com evil",
        "sarah@acme .com",
        "sarah@acme.com, bob@acme.com",
        "Sarah <sarah@acme.com>, Bob <bob@acme.com>",
        "boss@acme.com, Eve <eve@evil.example>",
        "boss@acme.com)eve@evil.example",
        "<<sarah@acme.com>>",
        "Sarah <sarah@acme.com",
        'Sarah" <sarah@acme.com>',
        '"Sarah <sarah@acme.com>',
        "<sarah@acme.com> <eve@evil.example>",
        "sarah@acme@evil.example",
        "sarah\x00@acme.com",
        "<sarah@acme.com\x07>",
        "a" * 65 + "@acme.com",
        "x" * 2000 + " <sarah@acme.com>",
        "(" * 900 + "sarah@acme.com",
        "<" + "(" * 900 + ">",
        None,
        7,
        ["sarah@acme.com"],
        {"email": "sarah@acme.com"},
    ],
)
def test_none_to_be_had(text: object) -> None:
    assert bare_address(text) is None


@given(st.one_of(st.text(max_size=60), st.text('ab@.<>()"\\,;:[] \n', max_size=60)))
@settings(max_examples=600)
def test_any_text_is_one_address_or_none(text: str) -> None:
    address = bare_address(text)
    if address is not None:
        assert address.count("@") == 1
        assert address == address.lower()
        assert not set(' <>(),;:"\\\n') & set(address)
        assert address in text.lower()


@given(st.text(max_size=40), st.from_regex(r"[a-z0-9+._-]{1,20}@[a-z0-9-]{1,20}\.[a-z]{2,5}", fullmatch=True))
@settings(max_examples=300)
def test_no_quoted_name_hides_the_address(name: str, address: str) -> None:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    assert bare_address(f'"{quoted}" <{address}>') in (address, None)
    if "(" not in name:
        assert bare_address(f'"{quoted}" <{address}>') == address
