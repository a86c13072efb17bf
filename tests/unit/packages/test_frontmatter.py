from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.packages.frontmatter import MarkdownDocument, split_frontmatter


def test_head_and_body() -> None:
    assert split_frontmatter("---\nname: a\n---\n# Body\n") == MarkdownDocument("name: a", "# Body\n", 4)


def test_the_body_line_is_the_line_in_the_file() -> None:
    text = "---\na: 1\nb: 2\n---\n\nfirst words\n"
    document = split_frontmatter(text)
    in_body = document.body.split("\n").index("first words")
    assert document.body_line + in_body == text.split("\n").index("first words") + 1


def test_without_frontmatter_all_is_body() -> None:
    assert split_frontmatter("# Body\n") == MarkdownDocument(None, "# Body\n", 1)


@pytest.mark.parametrize(
    "text", ["", "\n---\na: 1\n---\n", " ---\na: 1\n---\n", "----\na\n----\n", "text\n---\na\n---\n"]
)
def test_it_begins_on_the_first_line_or_not_at_all(text: str) -> None:
    assert split_frontmatter(text) == MarkdownDocument(None, text, 1)


@pytest.mark.parametrize("fence", ["---", "--- ", "---\t", "..."])
def test_blanks_after_the_fence_and_dots_at_the_end(fence: str) -> None:
    assert split_frontmatter(f"---\na: 1\n{fence}\nbody").head == "a: 1"


def test_empty_frontmatter() -> None:
    assert split_frontmatter("---\n---\nbody") == MarkdownDocument("", "body", 3)


def test_a_rule_in_the_body_ends_nothing() -> None:
    assert split_frontmatter("---\na: 1\n---\none\n---\ntwo\n").body == "one\n---\ntwo\n"


@pytest.mark.parametrize("text", ["---", "---\n", "---\na: 1\n", "---\na: 1\n ---\nbody\n"])
def test_what_never_ends(text: str) -> None:
    assert split_frontmatter(text) == MarkdownDocument(None, text, 1, unclosed=True)


@given(st.text("-. a:\n", max_size=40))
def test_nothing_is_lost(text: str) -> None:
    document = split_frontmatter(text)
    lines = text.split("\n")
    assert document.body.split("\n") == lines[document.body_line - 1 :] or document.body == ""
    assert document.head is None or document.head.split("\n") == (lines[1 : document.body_line - 2] or [""])
