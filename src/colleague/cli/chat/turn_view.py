"""How a turn looks in a chat: the answer in paragraphs as it comes, each call on one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from colleague.block_chunker import BlockChunker, BlockChunking
from colleague.cli.approval_view import summary
from colleague.cli.output import CROSS, TICK, plain
from colleague.cli.run_view import QUIET, RunView, ShownRun
from colleague.cli.spinner import Spinner
from colleague.verbosity import streams_reasoning

if TYPE_CHECKING:
    from colleague.run_document import RunHeading

PARAGRAPHS = BlockChunking(min_chars=1, max_chars=4000)
THINKING = "[Thinking]"
MOST_THOUGHT = 2000


class Display(Protocol):
    """Where a chat is shown: finished things above the prompt, what is under way beside it."""

    def line(self, text: str, style: str = "dim") -> None: ...

    def answer(self, block: str) -> None: ...

    def under_way(self, text: str) -> None:
        """The unfinished part of an answer; empty when there is none."""
        ...

    def busy(self, label: str) -> None:
        """What is waited for; empty when nothing is."""
        ...


class _Activity(Spinner):
    """Tells the display what is waited for, and draws nothing itself. The turn goes on when it stops."""

    def __init__(self, display: Display) -> None:
        super().__init__()
        self._display = display

    def start(self, label: str) -> None:
        super().start(label)
        self._display.busy(label)


class TurnView(RunView):
    """Shows the events of one turn after another. `reasoning` and `verbose` are what the session has set."""

    def __init__(self, display: Display, *, works: bool) -> None:
        super().__init__(quiet=False, works=works)
        self._display = display
        self._spinner = _Activity(display)
        self._blocks = BlockChunker(PARAGRAPHS)
        self._arguments: dict[str, str] = {}
        self._takes_back = True

    def _head(self, heading: RunHeading) -> None:
        pass

    def _think(self, run: ShownRun, piece: str) -> None:
        run.thought += piece
        if streams_reasoning(self.reasoning):
            self._display.under_way(f"{THINKING}\n{run.thought[-MOST_THOUGHT:]}")

    def _taken_back(self, told: str) -> str:
        """Blocks that are finished stand above the prompt; the one under way is taken back."""
        rest, self._blocks = self._blocks.rest, BlockChunker(PARAGRAPHS)
        self._display.under_way("")
        return told[: len(told) - len(rest)] if rest and told.endswith(rest) else told

    def _notice(self, text: str) -> None:
        self._line(text)

    def _show_thought(self, lines: Sequence[str]) -> None:
        if lines:
            self._display.under_way("")
            self._display.line("\n".join(f"~ {line}" for line in lines), "dim italic")

    def _tool_execution_start(self, run: ShownRun, data: dict[str, Any]) -> None:
        if data["call_id"] in run.begun | run.ended or data["operation"] in QUIET:
            return
        run.begun.add(data["call_id"])
        self._arguments[data["call_id"]] = told = plain(summary(data["arguments"]))
        self._display.busy(f"{data['operation']} {told}".strip())

    def _tool_result(self, run: ShownRun, data: dict[str, Any]) -> None:
        matters = data["is_error"] or data.get("status") == "parked"
        if data["call_id"] not in run.ended and (matters or data["operation"] not in QUIET):
            self._line(self._call_line(data))
            self._tell_result(data)

    def _call_line(self, data: dict[str, Any]) -> str:
        told = f"{data['operation']} {self._arguments.pop(data['call_id'], '')}".strip()
        status = str(data.get("status") or "finished").replace("_", " ")
        if status == "parked":
            return f"  … {told}: waits for your decision"
        if data["is_error"]:
            return f"  {CROSS} {told}: {plain(' '.join(str(data['result']).split())[:200])}"
        seconds = data.get("seconds") or 0
        took = f" ({seconds:.0f} s)" if seconds >= 1 else ""
        return f"  {TICK if status == 'finished' else status} {told}{took}"

    def _messages_steered(self, _run: ShownRun, _data: dict[str, Any]) -> None:
        self._line("  the message is read now")

    def _speak(self, text: str) -> None:
        for block in self._blocks.add(text):
            self._display.answer(block)
        self._in_line = bool(self._blocks.rest.strip())
        self._display.under_way(self._blocks.rest)

    def say(self, text: str) -> None:
        """A line below what there is of the answer."""
        self._line(text)

    def _line(self, text: str) -> None:
        self._end_line()
        self._display.line(text)

    def _end_line(self) -> None:
        """Also after a block that a blank line had finished."""
        rest = self._blocks.finish()
        self._display.under_way("")
        for block in rest:
            self._display.answer(block)
        self._in_line = False
