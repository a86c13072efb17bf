"""Text that is told again from its beginning after the first telling broke off: only what is new is shown."""

from __future__ import annotations


class RetoldText:
    """`shown` is what people have seen of the first telling."""

    def __init__(self, shown: str = "") -> None:
        self.shown = shown
        self._again = ""
        self.differs = False
        """Whether the second telling is another text; all of it is shown then."""

    @property
    def catching_up(self) -> bool:
        """Whether all that was told again is on the screen already."""
        return bool(self.shown) and not self.differs and self.shown.startswith(self._again)

    def add(self, piece: str) -> str:
        """What is to be shown now."""
        if not self.shown or self.differs:
            return piece
        before, self._again = self._again, self._again + piece
        if self._again.startswith(self.shown):
            return self._again[max(len(before), len(self.shown)) :]
        if self.shown.startswith(self._again):
            return ""
        self.differs = True
        return self._again


def rest_of(text: str, shown: str) -> str | None:
    """What of a text was not shown yet; None when something else was. Space between paragraphs may differ."""
    if text.startswith(shown):
        return text[len(shown) :]
    wanted = len("".join(shown.split()))
    if "".join(text.split())[:wanted] != "".join(shown.split()):
        return None
    at = 0
    while wanted:
        wanted -= not text[at].isspace()
        at += 1
    return text[at:] if text[at:].strip() else ""
