"""How much of each bootstrap file is shown: a limit for one, and one for all of them together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from colleague.agent.prompt.bootstrap_files import HEARTBEAT, BootstrapFile
from colleague.agent.prompt.text_file import TextFile

HEAD, TAIL = 0.7, 0.2
MARKER_CHARS = 200
"""Room for the marker where the limit of all files together cuts one."""
SHORTEST = 200
"""Less than that of a file tells nothing: it is dropped whole, and named."""

FileStatus = Literal["whole", "cut", "dropped", "empty", "missing", "unreadable", "refused"]
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True)
class ShownFile:
    """A bootstrap file as far as it is shown. `problem` is a sentence for people."""

    file: BootstrapFile
    status: FileStatus
    text: str = ""
    problem: str = ""

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def chars(self) -> int:
        return self.file.content.chars if self.file.content else 0


@dataclass(frozen=True)
class BootstrapBudget:
    """Characters of one file, and of all."""

    one: int
    all: int

    def share(self, length: int, left: int) -> int:
        """How many characters of a file are shown; 0 when it is dropped."""
        if length <= min(self.one, left):
            return length
        room = left - MARKER_CHARS
        return min(self.one, room) if room >= min(self.one, SHORTEST) else 0


def within_budget(files: Sequence[BootstrapFile], budget: BootstrapBudget) -> list[ShownFile]:
    """Earlier files are served first, so the later ones are cut or dropped."""
    shown: list[ShownFile] = []
    left = budget.all
    for file in files:
        shown.append(_shown_file(file, budget, left))
        left = max(0, left - len(shown[-1].text))
    return shown


def _shown_file(file: BootstrapFile, budget: BootstrapBudget, left: int) -> ShownFile:
    content = file.content
    if content is None:
        return _absent(file)
    problem = (
        f"{file.name} in the workspace is not as it should be: {content.problem}" if content.problem else ""
    )
    if not content.text.strip():
        return ShownFile(file, "unreadable" if problem else "empty", problem=problem)
    if file.basename == HEARTBEAT and not lists_something(content.text):
        return ShownFile(file, "empty", problem=problem)
    share = budget.share(content.chars, left)
    if share == content.chars and not content.unread:
        return ShownFile(file, "whole", content.text.strip(), problem)
    if share == 0:
        limit = f"{budget.all:,} characters"
        why = f"{file.name} is left out of the prompt: all files together are longer than {limit}"
        return ShownFile(file, "dropped", problem=problem or why)
    long = (
        f"{file.name} is cut in the prompt: it has {content.chars:,} characters, and {share:,} is the limit"
    )
    return ShownFile(file, "cut", cut(content, share, file), problem or long)


def _absent(file: BootstrapFile) -> ShownFile:
    if not file.refused:
        return ShownFile(file, "missing")
    return ShownFile(
        file, "refused", problem=f"bootstrap-extra-files: {file.name} is left out: {file.refused}"
    )


def cut(content: TextFile, limit: int, file: BootstrapFile) -> str:
    """The first 70 % and the last 20 % of the limit, and what is missing between them."""
    head, tail = content.text[: int(limit * HEAD)], int(limit * TAIL)
    end = (content.tail or content.text)[-tail:] if tail else ""
    missing = content.chars - len(head) - len(end)
    line = head.count("\n") + 1
    about = "about " if content.unread else ""
    rest = f'; read(path="{file.name}", offset={line}) shows it' if file.can_be_read else ""
    return (
        f"{head}\n[... {about}{missing:,} of {content.chars:,} characters are left out here{rest} ...]\n{end}"
    )


def lists_something(text: str) -> bool:
    """Whether more than headings and comments is in it."""
    lines = without_comments(text).splitlines()
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)


def without_comments(text: str) -> str:
    return _COMMENT.sub("", text)
