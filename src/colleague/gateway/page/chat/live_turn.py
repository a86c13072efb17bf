"""The answer that is being written: what is known of it before it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colleague.event_subscription import Callbacks, EventSubscription
from colleague.reply_words import PartialReply
from colleague.run_event import RunEvent
from colleague.session_event import STORED, SessionEvent
from colleague.silent_answer import shown_answer

TAIL_CHARACTERS = 2_000


@dataclass
class LiveTurn:
    """Takes the events of a session. `note` says why nothing comes; `output` is the end of what the call at
    work has written."""

    text: str = ""
    thinking: str = ""
    note: str = ""
    output: str = ""
    stored: str = ""
    """The last answer that is stored: what is in it is not shown twice, whichever is told first."""
    changed: bool = False

    def __post_init__(self) -> None:
        callbacks = Callbacks(
            on_partial_reply=self._on_words,
            on_taken_back=self._on_taken_back,
            on_reasoning_stream=self._on_thinking,
            on_agent_event=self._on_event,
        )
        self._subscription = EventSubscription(callbacks, reasoning="stream", verbose="full", pieces="always")

    @property
    def words(self) -> str:
        """What is shown of the answer so far."""
        return "" if self.stored.startswith(self.text) else self.text

    @property
    def thought(self) -> str:
        return self.thinking if self.words or not self.text else ""

    def take(self, event: SessionEvent) -> None:
        if event.kind == "message":
            self._on_message(event.data)
        elif event.kind not in STORED:
            self._subscription.take(event.as_run_event())
        if event.kind == "message_end":  # the answer is stored, or about to be
            self.end()
            self.text = str(event.data["text"])

    def end(self) -> None:
        """Nothing is at work any more."""
        self.changed = self.changed or bool(self.text or self.thinking or self.note or self.output)
        self.text = self.thinking = self.note = self.output = ""

    def _on_message(self, item: dict[str, Any]) -> None:
        if item["role"] == "assistant":
            self.stored, self.changed = shown_answer(item["text"]).text, True

    def _on_words(self, part: PartialReply) -> None:
        self.text = part.text if part.begins else self.text + part.text
        self.note, self.changed = "", True

    def _on_taken_back(self, _: str) -> str:
        """All of it: the page shows what is written anew."""
        self.text, self.changed = "", True
        return ""

    def _on_thinking(self, text: str) -> None:
        self.thinking += text
        self.note, self.changed = "", True

    def _on_event(self, event: RunEvent) -> None:
        handler = getattr(self, f"_on_{event.kind}", None)
        if handler is not None:
            handler(event.data)
            self.changed = True

    def _on_message_start(self, _: dict[str, Any]) -> None:
        self.end()

    def _on_message_retry(self, data: dict[str, Any]) -> None:
        self.end()
        seconds = round((data.get("in_ms") or 0) / 1000)
        self.note = f"{data['text']}; it is asked again in {seconds} s"

    def _on_message_slow(self, data: dict[str, Any]) -> None:
        self.note = str(data["text"])

    def _on_tool_execution_start(self, _: dict[str, Any]) -> None:
        self.output = ""

    def _on_tool_execution_update(self, data: dict[str, Any]) -> None:
        self.output = (self.output + str(data["text"]))[-TAIL_CHARACTERS:]

    def _on_tool_execution_end(self, _: dict[str, Any]) -> None:
        self.output = ""

    def _on_auto_compaction_start(self, _: dict[str, Any]) -> None:
        self.note = "The conversation so far is being shortened."

    def _on_auto_compaction_end(self, data: dict[str, Any]) -> None:
        self.note = str(data["text"])
