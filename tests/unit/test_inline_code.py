"""Texts of packages with code in them."""

from __future__ import annotations

import pytest

from colleague.gateway.page.inline_code import inline_code


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("Fetch it with `email.get_email`.", "Fetch it with <code>email.get_email</code>."),
        ("`a` & `b`", "<code>a</code> &amp; <code>b</code>"),
        ("`<b>`<b>", "<code>&lt;b&gt;</code>&lt;b&gt;"),
        (
            "`</code><script>alert(1)</script>`",
            "<code>&lt;/code&gt;&lt;script&gt;alert(1)&lt;/script&gt;</code>",
        ),
        ("one ` alone", "one ` alone"),
        ("`` and `two\nlines`", "`` and `two\nlines`"),
    ],
)
def test_only_code_is_marked(text: str, shown: str) -> None:
    assert inline_code(text) == shown


def test_many_marks_take_no_time() -> None:
    assert inline_code("`" * 200_000) == "`" * 200_000
