"""How runs look while they go on: the same with a gateway, without one, and in `run watch`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Self

import typer

from colleague.cli.approval_view import question_lines
from colleague.cli.output import CROSS, TICK, behind_bar, note, note_as_is, say, say_json
from colleague.cli.run_text import MARKS, first_sentence, next_commands, refused_text, usage_text
from colleague.cli.spinner import Spinner
from colleague.cli.trouble_text import ahead_line, retry_line, trouble_line
from colleague.run_document import (
    AheadDocument,
    ApprovalDocument,
    ReasoningMode,
    RunDocument,
    RunHeading,
    VerboseLevel,
    short,
)
from colleague.silent_answer import shown_answer
from colleague.verbosity import streams_reasoning, tells_calls, tells_results

if TYPE_CHECKING:
    from colleague.event_subscription import EventSubscription, Pieces
    from colleague.reply_words import PartialReply
    from colleague.run_event import RunEvent
    from colleague.runtime.service import RunService

WAITS = 4
LONGEST = 160
SLOW_SECONDS = 1.0
TO_BEGIN = "waiting for it to begin"
MOST_RESULT_LINES = 30
EMPTY = "the answer of the model is empty; ask again, or see what it thought: colleague session show"
QUIET = ("mark_step", "complete", "function_result")


@dataclass
class ShownRun:
    """One run, and how much of it was shown."""

    heading: RunHeading
    begun: set[str] = field(default_factory=set)
    begun_before: set[str] = field(default_factory=set)
    """The calls that had begun before we looked; of those only the end is news."""
    ended: set[str] = field(default_factory=set)
    thought: str = ""
    """What was thought and is not shown yet."""
    said: str = ""
    """The last message that was shown whole."""
    told: int = 0
    """How many messages were told since we listen; a gateway that comes back tells them all again."""
    shown: int = 0
    trouble: str = ""
    ahead: str = ""
    """What was said of the run that it stands behind."""
    child: str = ""
    """The run that it handed work to and waits for, as was said."""
    retried: bool = False
    """Whether each failed try is told as it happens."""

    @classmethod
    def after(cls, heading: RunHeading, before: RunDocument | None) -> ShownRun:
        if before is None:
            return cls(heading)
        begun = {call["id"] for call in before["calls"] if call["started_at"]}
        settled = {call["id"] for call in before["calls"] if call["result"] is not None}
        said = shown_answer(before["narrative"] or "").text.strip()
        return cls(heading, begun_before=begun, ended=settled, said=said, shown=before["turns"])

    def was_told(self, event: RunEvent) -> bool:
        """Whether it is an answer that was shown before the gateway went away."""
        if event.kind != "message_end":
            return False
        self.told += 1
        again, self.shown = self.told <= self.shown, max(self.told, self.shown)
        return again

    @property
    def speaks(self) -> bool:
        """Of an expert's run the words are left for the end, when the whole result is known."""
        return self.heading["kind"] != "expert"


class RunView:
    """Writes what the main agent says to stdout, and everything else to stderr, as it happens."""

    def __init__(self, *, quiet: bool, works: bool) -> None:
        self._quiet = quiet
        self._works = works
        self._runs: dict[str, ShownRun] = {}
        self._subscriptions: dict[str, EventSubscription] = {}
        self._headed = ""
        self._in_line = False
        self._spinner = Spinner()
        self.reasoning: ReasoningMode = "off"
        self.verbose: VerboseLevel = "on"
        """As the session of the run has them."""
        self._takes_back = sys.stdout.isatty()
        """Whether a person looks on."""

    @classmethod
    @contextmanager
    def open(cls, *, quiet: bool, works: bool) -> Iterator[Self]:
        """`works`: this process works on the runs, so ending it stops them."""
        view = cls(quiet=quiet, works=works)
        with view._spinner.turning():
            try:
                yield view
            finally:
                view._spinner.stop()
                view._end_line()

    def begin(self, heading: RunHeading, before: RunDocument | None = None) -> None:
        """The first line says which run it is, what it thinks with, and what it does.

        What had happened `before` is not shown again."""
        self._runs[heading["id"]] = ShownRun.after(heading, before)
        self.reasoning, self.verbose = heading["levels"]["reasoning"], heading["levels"]["verbose"]
        if len(self._runs) == 1:
            self._head(heading)
            self._wait_to_begin()

    def _subscribe(self, run: ShownRun) -> EventSubscription:
        """A program gets whole answers, since it cannot forget what was void."""
        from colleague.event_subscription import Callbacks, EventSubscription

        callbacks = Callbacks(
            on_partial_reply=partial(self._say_more, run) if run.speaks else None,
            on_taken_back=self._taken_back,
            on_reasoning_stream=partial(self._think, run),
            on_tool_result=partial(self._tool_result, run),
        )
        pieces: Pieces = "from_start" if self._takes_back else "never"
        levels = run.heading["levels"]
        return EventSubscription(
            callbacks, reasoning=levels["reasoning"], verbose=levels["verbose"], pieces=pieces
        )

    def show(self, event: RunEvent) -> None:
        run = self._runs.get(event.run_id)
        if self._quiet or run is None or run.was_told(event):
            return
        self._head(run.heading)
        if event.run_id not in self._subscriptions:
            self._subscriptions[event.run_id] = self._subscribe(run)
        self._subscriptions[event.run_id].take(event)
        shown = getattr(self, f"_{event.kind}", None)
        if shown is not None:
            shown(run, event.data)

    def end(self, document: RunDocument) -> None:
        """What the main agent said, where it was not shown while it spoke."""
        run = self._runs[document["id"]]
        self._spinner.stop()
        self._end_line()
        answer = shown_answer(document["narrative"] or "").text
        if not self._quiet and run.speaks and document["status"] == "done" and answer.strip() != run.said:
            self._speak(answer)
            self._end_line()

    def _wait_to_begin(self) -> None:
        if not self._quiet:
            self._spinner.keep("starting" if self._works else TO_BEGIN)

    def _head(self, heading: RunHeading) -> None:
        if self._quiet or self._headed == heading["id"]:
            return
        self._headed = heading["id"]
        what = "/".join(filter(None, (heading["expert"], heading["process"])))
        self._line(" · ".join(filter(None, (f"run {short(heading['id'])}", heading["model"], what))))

    def _agent_start(self, _run: ShownRun, _data: dict[str, Any]) -> None:
        self._spinner.start("starting")

    def _message_start(self, run: ShownRun, _data: dict[str, Any]) -> None:
        self._end_line()
        run.thought = ""
        self._spinner.start("thinking")

    def _say_more(self, run: ShownRun, part: PartialReply) -> None:
        self._end_thought(run)
        if part.begins:
            self._end_line()
        self._speak(part.text)

    def _taken_back(self, told: str) -> str:
        """What stays on the screen of an answer that comes again, or of which this is no part."""
        return told

    def _think(self, run: ShownRun, piece: str) -> None:
        run.thought += piece
        if streams_reasoning(self.reasoning) and "\n" in piece:
            *lines, run.thought = run.thought.split("\n")
            self._show_thought(lines)

    def _end_thought(self, run: ShownRun) -> None:
        lines, run.thought = run.thought.strip().splitlines(), ""
        self._show_thought(lines)

    def _show_thought(self, lines: Sequence[str]) -> None:
        if lines:
            self._line("\n".join(f"~ {line}" for line in lines))

    def _message_retry(self, run: ShownRun, data: dict[str, Any]) -> None:
        """A model is asked again, and what it had said so far is void: its new answer goes on where the same
        words were shown, or begins on a new line."""
        run.retried, run.thought = True, ""
        if not run.trouble or data.get("next_try_at") != run.trouble:
            self._notice(retry_line(data, run.heading["id"] if self._works else ""))
        self._spinner.start("waiting for the next try")

    def _notice(self, text: str) -> None:
        """Beside the answer: a line that is half written goes on after it, unless both are on one screen."""
        if sys.stdout.isatty():
            self._line(text)
            return
        with self._spinner.away():
            note_as_is(text)

    def _message_slow(self, _run: ShownRun, data: dict[str, Any]) -> None:
        self._line(f"  … {data['text']}")

    def _auto_compaction_start(self, _run: ShownRun, _data: dict[str, Any]) -> None:
        self._line("  … the conversation is long; it is being shortened")
        self._spinner.start("shortening")

    def _auto_compaction_end(self, _run: ShownRun, data: dict[str, Any]) -> None:
        mark = TICK if data["outcome"] == "completed" else CROSS
        if data["cause"] != "manual":  # else it is the answer itself
            self._line(f"  {mark} {data['text']}")
        self._spinner.start("thinking")

    def _message_end(self, run: ShownRun, data: dict[str, Any]) -> None:
        if run.speaks:
            self._end_thought(run)
            run.said = str(data.get("text") or "").strip()
            self._name_media(data.get("media") or ())
        self._end_line()
        self._spinner.stop()

    def _name_media(self, media: Sequence[str]) -> None:
        for each in media:
            self._line(f"  media: {each}")

    def _tool_execution_start(self, run: ShownRun, data: dict[str, Any]) -> None:
        if data["call_id"] in run.begun | run.begun_before | run.ended:
            return
        run.begun.add(data["call_id"])
        operation, arguments = data["operation"], data["arguments"]
        if operation == "mark_step":
            if line := _step(run.heading, arguments):
                self._line(line)
        elif operation not in QUIET:
            if tells_calls(self.verbose):
                self._line(f"    {operation} {_brief(arguments)}")
            self._spinner.start(operation)

    def _tool_execution_end(self, run: ShownRun, data: dict[str, Any]) -> None:
        if data["call_id"] in run.ended:
            return
        run.ended.add(data["call_id"])
        if data["is_error"] or data["operation"] not in QUIET:
            self._spinner.start("thinking")

    def _tool_result(self, run: ShownRun, data: dict[str, Any]) -> None:
        """A call that waits for a person is told at the end."""
        operation, status = data["operation"], str(data.get("status") or "finished")
        if data["call_id"] in run.ended:
            return
        if data["is_error"]:
            word = "" if status == "finished" else f"{status.replace('_', ' ')}: "
            self._line(f"    {CROSS} {operation}: {word}{_first_line(data['result'])}")
        elif operation in QUIET or not tells_calls(self.verbose):
            return
        elif data["call_id"] not in run.begun:
            self._line(f"    {operation}: {status.replace('_', ' ')}")
        elif (data.get("seconds") or 0) >= SLOW_SECONDS:
            self._line(f"    {operation} took {data['seconds']:.0f} s")
        self._tell_result(data)

    def _tell_result(self, data: dict[str, Any]) -> None:
        if not tells_results(self.verbose) or not data["result"]:
            return
        lines = str(data["result"]).splitlines()
        more = len(lines) - MOST_RESULT_LINES
        shown = [*behind_bar("\n".join(lines[:MOST_RESULT_LINES]), "    ")]
        self._line("\n".join([*shown, f"  and {more} lines more"] if more > 0 else shown))

    def _run_status(self, run: ShownRun, data: dict[str, Any]) -> None:
        if data["status"] == "retrying":
            self._line(f"  {CROSS} {data['error']}; next attempt {_in_time(data['retry_at'])}")
        trouble = data.get("trouble")
        if (
            trouble
            and not self._works  # else the worker of this process tells it
            and not run.retried
            and trouble["next_try_at"] != run.trouble
            and data["status"] == "running"
        ):
            run.trouble = trouble["next_try_at"]
            self._line(f"  {CROSS} {trouble_line(trouble)}")
        if data["status"] == "queued":
            self._queued(run, data["ahead"])
        elif data["status"] == "waiting" and not data["waiting_on"] and data["child_runs"]:
            self._handed_over(run, data["child_runs"][-1])
        elif data["status"] != "running":
            self._spinner.stop()
        elif self._spinner.label == TO_BEGIN:
            self._spinner.start("working")

    def _queued(self, run: ShownRun, ahead: AheadDocument | None) -> None:
        """Says what it stands behind, and each time that one fails."""
        if ahead is None:
            self._wait_to_begin()
            return
        told = f"{ahead['id']} {ahead['retry_at']} {ahead['trouble'] and ahead['trouble']['next_try_at']}"
        if told != run.ahead and ahead["status"] != "waiting":
            self._line(f"  … {ahead_line(ahead)}")
        run.ahead = told
        self._spinner.keep(f"waiting for run {short(ahead['id'])}")

    def _handed_over(self, run: ShownRun, child: str) -> None:
        """Says once whose work it waits for."""
        if child != run.child:
            look = f"colleague run watch {short(child)}"
            self._line(f"  … waits for run {short(child)}, which it handed work to ({look})")
        run.child = child
        self._spinner.keep(f"waiting for run {short(child)}")

    def _gateway_lost(self, run: ShownRun, data: dict[str, Any]) -> None:
        run.told = 0
        self._line(f"  {CROSS} the gateway is gone; it has {data['seconds']:.0f} s to come back")
        self._spinner.start("waiting for the gateway")

    def _gateway_back(self, _run: ShownRun, _data: dict[str, Any]) -> None:
        self._line(f"  {TICK} the gateway is back")
        self._spinner.stop()

    def _speak(self, text: str) -> None:
        if text:
            self._spinner.stop()
            say(text, end="")
            self._in_line = not text.endswith("\n")

    def _line(self, text: str) -> None:
        with self._spinner.away():
            self._end_line()
            note_as_is(text)

    def _end_line(self) -> None:
        if self._in_line:
            say()
            self._in_line = False


def _step(heading: RunHeading, arguments: dict[str, Any]) -> str:
    """Empty for a step that is not there: the result of the call says so."""
    steps, number = heading["steps"], int(arguments["step"])
    if not 0 < number <= len(steps):
        return ""
    return f"  {MARKS[arguments['status']]} {number}. {first_sentence(steps[number - 1]['text'])}"


def _brief(arguments: dict[str, Any]) -> str:
    """The path of a file, or the arguments, on one line."""
    if isinstance(arguments.get("path"), str):
        return str(arguments["path"])
    return json.dumps(arguments, ensure_ascii=False)[:LONGEST]


def _first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return " ".join(lines[:2])[:300]


def _in_time(moment: str | None) -> str:
    if moment is None:
        return "soon"
    seconds = (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds()
    return f"in {max(ceil(seconds), 0)} s"


async def say_documents(runs: RunService, documents: Sequence[RunDocument], *, as_json: bool) -> int:
    """Tells how each run stands; the exit code."""
    parked = [await parked_questions(runs, document) for document in documents]
    for document, questions in zip(documents, parked, strict=True):
        if not as_json:
            await say_end(runs, document)
            _say_parked(questions)
    if as_json:
        say_json(documents[0] if len(documents) == 1 else list(documents))
    codes = [exit_code_of(document) for document in documents]
    return max([*codes, *(WAITS for questions in parked if questions)], default=0)


async def say_end(runs: RunService, document: RunDocument) -> None:
    """The end of a run that was waited for: the result on stdout, everything else beside it."""
    ending = short(document["id"])
    if document["status"] != "done":
        waits = document["status"] == "waiting"
        word = "waits for you" if waits else "stands behind a run that waits for you"
        note(f"run {ending} {word}:")
        for approval in await _holding(runs, document):
            for line in question_lines(approval):
                note_as_is(line)
        return
    more = "".join(f" · {each}" for each in (usage_text(document), refused_text(document)) if each)
    if document["outcome"] != "completed":
        note_as_is(f"{CROSS} run {ending} {document['outcome']}: {document['error']}{more}")
        if cure := next_commands(document):
            note(f"  next: {cure}")
        return
    note(f"{TICK} run {ending} completed{more}")
    _say_drafts(document)
    if document["kind"] == "expert":
        _say_result(document)
    elif (shown := shown_answer(document["narrative"] or "")).silent:
        note(f"  nothing is shown: the agent answered {shown.token}")
    elif is_empty(document):
        note(f"  {EMPTY}")


def is_empty(document: RunDocument) -> bool:
    """Whether a turn ended with an answer in which there is nothing for people."""
    payloads = document["result"]["payloads"] if document["result"] else []
    brought = bool(payloads and payloads[-1]["media"])
    done = document["outcome"] == "completed" and document["kind"] == "agent"
    return done and not (document["narrative"] or "").strip() and not brought


def _say_result(document: RunDocument) -> None:
    """Of an expert; what the main agent says was shown while it spoke."""
    say(document["narrative"] or "")
    if document["outputs"]:
        say(json.dumps(document["outputs"], indent=2, ensure_ascii=False))


async def parked_questions(runs: RunService, document: RunDocument) -> list[ApprovalDocument]:
    """What this turn asked a person for while it went on, and nobody has decided yet; the oldest first."""
    parked = [
        (each["operation"], each["arguments"]) for each in document["calls"] if each["status"] == "parked"
    ]
    if document["status"] != "done" or not (parked or document["approvals"]):
        return []
    return [
        each
        for each in await runs.pending()
        if each["parked"]
        and (each["run_id"] == document["id"] or (each["operation"], each["arguments"]) in parked)
        and await _is_of_session(runs, each, document)
    ]


async def _is_of_session(runs: RunService, approval: ApprovalDocument, document: RunDocument) -> bool:
    """Other sessions may ask for the same."""
    if approval["run_id"] == document["id"]:
        return True
    return (await runs.run(approval["run_id"]))["session_key"] == document["session_key"]


def _say_parked(questions: Sequence[ApprovalDocument]) -> None:
    for approval in questions:
        note("the conversation goes on; this waits for you:")
        for line in question_lines(approval):
            note_as_is(line)


def _say_drafts(document: RunDocument) -> None:
    for each in document["notices"]:
        if each["kind"] == "draft":
            look = f"colleague approval show {short(each['subject'])}"
            note(f"  a draft waits for you: {each['body']['operation']} ({look})")


def exit_code_of(document: RunDocument) -> int:
    if document["status"] != "done":
        return WAITS
    return 0 if document["outcome"] == "completed" else 1


def end_with(code: int) -> None:
    """Ends the command, now that everything is closed."""
    if code:
        raise typer.Exit(code)


async def _holding(runs: RunService, document: RunDocument) -> list[ApprovalDocument]:
    """The questions that hold this run, or the one it stands behind."""
    holder = await runs.run(document["blocked_by"]) if document["blocked_by"] else document
    return [await runs.approval(each) for each in holder["waiting_on"]]
