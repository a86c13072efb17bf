"""Where a walk stands, by what its transcript shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from colleague.agent.models.tool_name import safe_name
from colleague.experts.rehearsal.history import FinishedCall, HistoryItem
from colleague.experts.rehearsal.plan import SCRATCH, Move

_MARK = "mark_step"
_FILE_TOOLS = ("read", "write")


class StepProgress:
    """The place of the next move, and the `failure` that stands in its way.

    `told` says that the failure has been marked already."""

    def __init__(self, plan: Sequence[Move]) -> None:
        self.failure: FinishedCall | None = None
        self.told = False
        self._plan = plan
        self._position = 0
        self._done: set[int] = set()
        self._reread: set[str] = set()

    @property
    def move(self) -> Move:
        return self._plan[min(self._position, len(self._plan) - 1)]

    @property
    def can_read_again(self) -> bool:
        """Whether the failure is a refused write: the file is not as we know it, so it is read first."""
        refused = self.failure is not None and self.failure.is_of("write")
        return refused and self.move.subject not in self._reread

    def left_out(self, step: int | None = None) -> list[Move]:
        """Moves that the walk went past, of one step or of all."""
        return [
            move
            for place, move in enumerate(self._plan[: self._position])
            if place not in self._done and move.tool != _MARK and step in (None, move.step)
        ]

    def go_past(self) -> None:
        self._position += 1

    def note(self, event: HistoryItem) -> None:
        if not isinstance(event, FinishedCall):
            self.failure, self.told = None, False
            self._reread.clear()
        elif event.is_of(_MARK) and event.arguments.get("status") == "failed":
            self.told = True
        elif self._reads_again(event):
            self._note_reading(event)
        else:
            self._note_call(event)

    def _reads_again(self, event: FinishedCall) -> bool:
        return self.can_read_again and key_of(event) == (safe_name("read"), self.move.subject)

    def _note_reading(self, event: FinishedCall) -> None:
        self._reread.add(self.move.subject)
        self.failure = None if event.ok else event
        if event.ok and self.move.subject.startswith(SCRATCH):
            self._finish(self._position)

    def _note_call(self, event: FinishedCall) -> None:
        place = self._place(key_of(event))
        if place is None:
            return
        if event.ok or event.is_of(_MARK):
            self._finish(place)
        elif self._plan[place].may_fail:
            self._position = place + 1
        else:
            self._position, self.failure, self.told = place, event, False

    def _place(self, key: tuple[str, str]) -> int | None:
        """The move that a call was: of the step that is open, unless it marks a later one."""
        for place in range(self._position, len(self._plan)):
            if self._plan[place].key == key:
                return place
            if self._plan[place].tool == _MARK and key[0] != _MARK:
                break
        return None

    def _finish(self, place: int) -> None:
        self._done.add(place)
        self._position, self.failure, self.told = place + 1, None, False


def key_of(call: FinishedCall) -> tuple[str, str]:
    """The key of the move that a call was."""
    if call.tool in _FILE_TOOLS:
        return call.tool, str(call.arguments.get("path", ""))
    if call.is_of("function_result"):
        return call.tool, str(call.arguments.get("function", ""))
    return call.tool, str(call.arguments.get("step", "")) if call.is_of(_MARK) else ""


def progress(plan: Sequence[Move], history: Iterable[HistoryItem]) -> StepProgress:
    """How far a walk along `plan` has come."""
    walked = StepProgress(plan)
    for event in history:
        walked.note(event)
    return walked
