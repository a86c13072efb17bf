"""The answer that is being written: what is known of it before it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colleague.session_event import SessionEvent
from colleague.silent_answer import shown_answer, shown_so_far

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

    @property
    def words(self) -> str:
        """What is shown of the answer so far."""
        found = shown_so_far(self.text)
        return "" if self.stored.startswith(found) else found

    @property
    def thought(self) -> str:
        return self.thinking if self.words or not self.text else ""

    def take(self, event: SessionEvent) -> None:
        handler = getattr(self, f"_on_{event.kind}", None)
        if handler is not None:
            handler(event.data)
            self.changed = True

    def end(self) -> None:
        """Nothing is at work any more."""
        self.changed = self.changed or bool(self.text or self.thinking or self.note or self.output)
        self.text = self.thinking = self.note = self.output = ""

    def _on_message(self, item: dict[str, Any]) -> None:
        if item["role"] == "assistant":
            self.stored = shown_answer(item["text"]).text

    def _on_message_start(self, _: dict[str, Any]) -> None:
        self.end()

    def _on_message_update(self, data: dict[str, Any]) -> None:
        self.text = data.get("text", "") if data.get("void") else self.text + data.get("text", "")
        self.thinking += data.get("thinking", "")
        self.note = ""

    def _on_message_end(self, data: dict[str, Any]) -> None:
        """The answer is stored, or about to be."""
        self.end()
        self.text = str(data["text"])

    def _on_message_retry(self, data: dict[str, Any]) -> None:
        """What was told of this answer is void."""
        self.end()
        self.note = str(data["text"])

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
