"""One answer as a listener is told it: nothing twice, although the model may begin it again."""

from __future__ import annotations

from dataclasses import dataclass

from colleague.retold_text import RetoldText, rest_of


@dataclass(frozen=True)
class PartialReply:
    """More words of an answer. `begins`: they do not go on where those before ended."""

    text: str
    begins: bool


class ReplyWords:
    """The words of one answer. `kept` is what the listener still has of the same answer, which broke off."""

    def __init__(self, kept: str = "") -> None:
        self._pieces: list[str] = []
        self._retold = RetoldText(kept)
        self._goes_on = bool(kept)

    @property
    def told(self) -> str:
        """What the listener has of this answer."""
        return self._retold.shown if self._retold.catching_up else "".join(self._pieces)

    def add(self, piece: str) -> PartialReply | None:
        """What is told of one piece more."""
        self._pieces.append(piece)
        fresh = self._retold.add(piece)
        if self._retold.differs:
            self._retold, self._goes_on = RetoldText(), False
        return self._part(fresh)

    def is_told_of(self, whole: str) -> bool:
        """Whether what the listener has is how this answer begins."""
        return rest_of(whole, self.told) is not None

    def end(self, whole: str) -> PartialReply | None:
        """What is told when the answer is complete; all of it when it is another one."""
        rest = rest_of(whole, self.told)
        self._goes_on = self._goes_on and rest is not None
        return self._part(whole if rest is None else rest)

    def _part(self, text: str) -> PartialReply | None:
        if not text:
            return None
        begins, self._goes_on = not self._goes_on, True
        return PartialReply(text, begins)
