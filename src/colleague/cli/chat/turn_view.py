"""How a turn looks in a chat: the answer in paragraphs as it comes, each call on one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from colleague.cli.approval_view import summary
from colleague.cli.chat.blocks import AnswerBlocks
from colleague.cli.output import CROSS, TICK, plain
from colleague.cli.run_view import QUIET, RunView, ShownRun
from colleague.cli.spinner import Spinner

if TYPE_CHECKING:
    from colleague.run_document import RunDocument

MOST_RESULT_LINES = 30


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
        self._blocks = AnswerBlocks()
        self._thought = ""
        self._arguments: dict[str, str] = {}
        self.reasoning = False
        self.verbose = False

    def _head(self, document: RunDocument) -> None:
        pass

    def _message_update(self, run: ShownRun, data: dict[str, Any]) -> None:
        if "thinking" in data and self.reasoning:
            self._thought += data["thinking"]
            self._display.under_way(self._thought)
        if "text" in data:
            self._end_thought()
            super()._message_update(run, data)

    def _message_end(self, run: ShownRun, data: dict[str, Any]) -> None:
        self._end_thought()
        super()._message_end(run, data)

    def _shown_of(self, run: ShownRun) -> str:
        """Blocks that are finished stand above the prompt; the one under way is taken back."""
        shown = super()._shown_of(run)
        rest = self._blocks.rest
        self._blocks = AnswerBlocks()
        self._thought = ""
        self._display.under_way("")
        return shown[: len(shown) - len(rest)] if rest and shown.endswith(rest) else shown

    def _notice(self, text: str) -> None:
        self._line(text)

    def _end_thought(self) -> None:
        if self._thought.strip():
            self._display.line(
                "\n".join(f"~ {line}" for line in self._thought.strip().splitlines()), "dim italic"
            )
            self._display.under_way("")
        self._thought = ""

    def _tool_execution_start(self, run: ShownRun, data: dict[str, Any]) -> None:
        if data["call_id"] in run.begun | run.ended or data["operation"] in QUIET:
            return
        run.begun.add(data["call_id"])
        self._arguments[data["call_id"]] = told = plain(summary(data["arguments"]))
        self._display.busy(f"{data['operation']} {told}".strip())

    def _tool_execution_end(self, run: ShownRun, data: dict[str, Any]) -> None:
        if data["call_id"] in run.ended:
            return
        run.ended.add(data["call_id"])
        self._display.busy("thinking")
        if data["operation"] in QUIET and not data["is_error"]:
            return
        self._line(self._call_line(data))
        if self.verbose and data["result"]:
            lines = str(data["result"]).splitlines()
            more = (
                [f"  and {len(lines) - MOST_RESULT_LINES} lines more"]
                if len(lines) > MOST_RESULT_LINES
                else []
            )
            self._line("\n".join([*(f"    │ {plain(each)}" for each in lines[:MOST_RESULT_LINES]), *more]))

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
        self._line("  your message is read now")

    def _speak(self, text: str) -> None:
        for block in self._blocks.add(text):
            self._display.answer(block)
        self._in_line = bool(self._blocks.rest.strip())
        self._display.under_way(self._blocks.rest)

    def _line(self, text: str) -> None:
        self._end_line()
        self._display.line(text)

    def _end_line(self) -> None:
        """Also after a block that a blank line had finished."""
        rest = self._blocks.finish()
        self._display.under_way("")
        if rest:
            self._display.answer(rest)
        self._in_line = False
