"""The YAML between the `---` lines at the top of a Markdown file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MarkdownDocument:
    """`head` is None when there is no frontmatter. `body_line` is the body's first line in the file."""

    head: str | None
    body: str
    body_line: int
    unclosed: bool = False


def split_frontmatter(text: str) -> MarkdownDocument:
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return MarkdownDocument(None, text, 1)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in ("---", "..."):
            return MarkdownDocument("\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2)
    return MarkdownDocument(None, text, 1, unclosed=True)
