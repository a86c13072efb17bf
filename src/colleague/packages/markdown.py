"""A Markdown file of a package: its frontmatter as fields, and its body."""

from __future__ import annotations

from dataclasses import dataclass

from colleague.packages.fields import Fields
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.frontmatter import split_frontmatter
from colleague.packages.mark import Mark
from colleague.packages.nodes import NodeError, parse


@dataclass(frozen=True)
class Markdown:
    """One file, read. `text` is the whole of it."""

    path: str
    text: str
    body: str
    body_line: int
    fields: Fields
    has_head: bool


def read_markdown(folder: PackageFolder, path: str, at: Mark, what: str) -> Markdown | None:
    text = folder.read(path, at)
    if text is None:
        return None
    document = split_frontmatter(text)
    if document.unclosed:
        message = "the frontmatter that begins here never ends"
        folder.findings.add("frontmatter-unclosed", Mark(path), message, "close it with a line of ---")
    fields = Fields(None, what, folder.findings, Mark(path))
    if document.head is not None:
        fields = _read_head(document.head, path, what, folder.findings)
    return Markdown(
        path, text, document.body, document.body_line, fields, document.head is not None or document.unclosed
    )


def _read_head(head: str, path: str, what: str, findings: Findings) -> Fields:
    try:
        node = parse(head, path, first_line=2)
    except NodeError as error:
        findings.add(error.code, error.at, error.message, error.hint)
        node = None
    return Fields(node, what, findings, Mark(path))


def stem(path: str) -> str:
    """`knowledge/meddpicc.md` is called `meddpicc` where it has no name of its own."""
    return path.rpartition("/")[2].rpartition(".")[0] or path
