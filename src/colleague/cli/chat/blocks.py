"""An answer that still comes, cut into parts which can be shown for good."""

from __future__ import annotations

LONGEST = 4000
_FENCES = ("```", "~~~")


class AnswerBlocks:
    """Paragraphs, lists and code blocks are finished when a blank line follows, outside of code."""

    def __init__(self) -> None:
        self.rest = ""
        """What is not finished yet."""

    def add(self, piece: str) -> list[str]:
        """The blocks that are finished now."""
        self.rest += piece
        found: list[str] = []
        while (cut := _end_of_block(self.rest)) is not None:
            found.append(self.rest[:cut])
            self.rest = self.rest[cut:]
        return [each.strip("\n") for each in found if each.strip()]

    def finish(self) -> str:
        """What is left, when nothing more comes."""
        rest, self.rest = self.rest, ""
        return rest.strip("\n") if rest.strip() else ""


def _end_of_block(text: str) -> int | None:
    at, fenced, filled = 0, False, False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith(_FENCES):
            fenced = not fenced
        at += len(line)
        if not line.endswith("\n"):
            break
        if filled and not fenced and not line.strip():
            return at
        filled = filled or bool(line.strip())
    return _cut(text) if len(text) > LONGEST and not fenced else None


def _cut(text: str) -> int | None:
    """Inside of a long paragraph, where its lines or words end."""
    at = max(text.rfind("\n", 0, LONGEST), text.rfind(" ", 0, LONGEST))
    return at + 1 if at > 0 else None
