"""How a turn looks in a chat, event by event, on a display that only remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from colleague.agent.models.delta import TextDelta
from colleague.agent.streaming.answer import AnswerReader, read_answer
from colleague.agent.streaming.payloads import message_end
from colleague.cli.chat.attachments import with_files
from colleague.cli.chat.turn_view import TurnView
from colleague.errors import UsageError
from colleague.home import Home
from colleague.run_document import RunDocument
from colleague.run_event import Kind, RunEvent
from colleague.runtime.requests import MOST_FILE_CHARACTERS


@dataclass
class Seen:
    """Everything that was shown for good, and what is under way."""

    lines: list[str] = field(default_factory=list)
    live: str = ""
    label: str = ""

    def line(self, text: str, style: str = "dim") -> None:
        self.lines.append(text)

    def answer(self, block: str) -> None:
        self.lines.append(block)

    def under_way(self, text: str) -> None:
        self.live = text

    def busy(self, label: str) -> None:
        self.label = label


def document(**more: Any) -> RunDocument:
    known = {"id": "run", "kind": "agent", "status": "running", "narrative": None, "calls": [], "turns": 0}
    return cast(RunDocument, known | more)


def told(*events: tuple[Kind, dict[str, Any]], reasoning: str = "off", verbose: str = "on") -> Seen:
    seen = Seen()
    view = TurnView(seen, works=True)
    view.begin(document(levels={"reasoning": reasoning, "verbose": verbose}))
    for kind, data in events:
        view.show(RunEvent(kind, "run", data))
    return seen


START: tuple[Kind, dict[str, Any]] = ("message_start", {"turn": 1})


def text(*pieces: str) -> list[tuple[Kind, dict[str, Any]]]:
    return [("message_update", {"text": piece}) for piece in pieces]


def test_paragraphs_are_shown_when_they_are_finished() -> None:
    seen = told(START, *text("One ", "para.\n", "\nTwo"))
    assert (seen.lines, seen.live) == (["One para."], "Two")
    seen = told(START, *text("One ", "para.\n", "\nTwo"), ("message_end", {"text": "One para.\n\nTwo."}))
    assert (seen.lines, seen.live) == (["One para.", "Two."], "")


def test_a_call_takes_one_line_however_it_ends() -> None:
    begun = {"call_id": "c", "operation": "write", "arguments": {"path": "a.md", "text": "x\n" * 500}}
    ended = {
        "call_id": "c",
        "operation": "write",
        "result": "written\nlong",
        "is_error": False,
        "seconds": 2.2,
    }
    start, end = ("tool_execution_start", begun), ("tool_execution_end", ended)
    under_way = told(cast(Any, start))
    assert under_way.lines == []
    assert under_way.label.startswith("write path a.md")
    [line] = told(cast(Any, start), cast(Any, end)).lines
    assert line.startswith("  ✓ write path a.md, text x x")
    assert line.endswith("(2 s)")
    failed = ("tool_execution_end", ended | {"is_error": True, "result": "no\nsuch file"})
    assert told(cast(Any, failed)).lines == ["  ✗ write: no such file"]
    parked = ("tool_execution_end", ended | {"status": "parked"})
    assert told(cast(Any, parked)).lines == ["  … write: waits for your decision"]
    assert told(cast(Any, start), cast(Any, end), verbose="off").lines == []
    assert told(cast(Any, failed), verbose="off").lines == ["  ✗ write: no such file"]
    assert told(cast(Any, end), verbose="full").lines[1] == "    │ written\n    │ long"


def test_reasoning_is_shown_on_request() -> None:
    events = [
        START,
        ("message_update", {"thinking": "Hm.\nWell."}),
        *text("Yes."),
        ("message_end", {"text": "Yes."}),
    ]
    assert told(*cast(Any, events)).lines == ["Yes."]
    assert told(*cast(Any, events), reasoning="on").lines == ["~ Hm.\n~ Well.", "Yes."]


def test_silent_answers_and_answers_that_begin_anew() -> None:
    reader = AnswerReader()
    pieces = [reader.add(TextDelta(0, piece)).text for piece in ("NO_", "REPLY")]
    silent = dict(message_end(read_answer("NO_REPLY")))
    assert told(START, *text(*pieces), ("message_end", silent)).lines == []
    whole: tuple[Kind, dict[str, Any]] = ("message_end", {"text": "All of it."})
    assert told(whole).lines == ["All of it."]


def test_reasoning_can_be_watched_as_it_comes() -> None:
    thinking: tuple[Kind, dict[str, Any]] = ("message_update", {"thinking": "Hm"})
    assert told(START, thinking).live == ""
    assert told(START, thinking, reasoning="on").live == ""
    assert told(START, thinking, reasoning="stream").live == "[Thinking]\nHm"
    late: tuple[Kind, dict[str, Any]] = ("message_end", {"text": "Yes.", "reasoning": "Hm."})
    assert told(late, reasoning="on").lines == ["~ Hm.", "Yes."]


def test_what_stood_before_final_is_taken_back() -> None:
    void: tuple[Kind, dict[str, Any]] = ("message_update", {"text": "Yes", "void": True})
    seen = told(START, *text("Let me "), void, ("message_end", {"text": "Yes.", "media": ["a.png"]}))
    assert (seen.lines, seen.live) == (["Yes.", "  media: a.png"], "")


def test_what_a_message_names_goes_along(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("inside")
    (tmp_path / "binary.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "long.txt").write_text("x" * (MOST_FILE_CHARACTERS + 1))
    sent = with_files('see @"a b.txt", mail@home.example, @ada', tmp_path, Home(tmp_path / "home"))
    assert sent.text.count("inside") == 1
    assert sent.attachments == ()
    for wrong in ("@./none", "@/no/such", "@missing.txt", "@binary.bin", "@long.txt", f"@{tmp_path}"):
        with pytest.raises(UsageError):
            with_files(wrong, tmp_path, Home(tmp_path / "home"))
