"""What people see in a session when a turn of it ends."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from colleague.agent.prompt.bootstrap_once import BootstrapOnce
from colleague.main_names import MAIN_TRANSCRIPT
from colleague.silent_answer import shown_heartbeat
from colleague.store.chat_answers import ChatTarget, ChatWords, tell_chat
from colleague.store.journal import read_calls
from colleague.store.run import Outcome, Run
from colleague.store.session_entry import keep_prompt_report
from colleague.store.session_items import NewItem, add_item, events_before, items_of_run, reveal
from colleague.store.tables import runs
from colleague.store.tx import Tx

FAILED = "This turn failed:"


@dataclass(frozen=True)
class HeartbeatEnd:
    """How the answer to a regular check is treated: up to `ack_max_chars` characters beside `HEARTBEAT_OK`
    are dropped with it. `shown`: whether anything ever is."""

    ack_max_chars: int
    shown: bool = True


@dataclass(frozen=True)
class TurnEndHooks:
    """An answer is in the session already; a turn that failed says so there. Of a regular check people see an
    answer that has something to report, and nothing else."""

    heartbeat: HeartbeatEnd | None = None
    bootstrap: BootstrapOnce | None = None
    prompt_report: str | None = None
    """How long the parts of the prompt are, when that is new: kept in the entry of the session."""
    chat: ChatTarget | None = None
    """Where it is told as well."""

    async def prepared(self, run: Run, narrative: str, outputs: dict[str, Any] | None) -> TurnEndHooks:  # noqa: ARG002
        return self

    def completed(self, tx: Tx, run: Run, narrative: str, outputs: dict[str, Any] | None) -> None:  # noqa: ARG002
        self._keep_report(tx, run)
        if self.heartbeat is None or run.transcript is None:
            return
        answer = shown_heartbeat(narrative, ack_max_chars=self.heartbeat.ack_max_chars)
        if answer.text and self.heartbeat.shown:
            said = [item for item in items_of_run(tx, run.id) if item.role == "assistant"]
            reveal(tx, said[-1], answer.text)
            self._tell(tx, run, said[-1].position, answer.text)
        elif _left_nothing(tx, run):
            tx.update(runs, {"id": run.id}, transcript=None)

    def failed(self, tx: Tx, run: Run, outcome: Outcome, error: str) -> None:  # noqa: ARG002 - a turn only fails
        self._keep_report(tx, run)
        if run.transcript is not None:
            text, hidden = f"{FAILED} {error}", int(self.heartbeat is not None)
            item = NewItem("event", text, source="turn", run_id=run.id, hidden=hidden)
            position = add_item(tx, run.session_key, item)
            if not hidden:
                self._tell(tx, run, position, text)

    def _tell(self, tx: Tx, run: Run, position: int, text: str) -> None:
        if self.chat is not None:
            tell_chat(tx, run, self.chat, position, ChatWords(text))

    def _keep_report(self, tx: Tx, run: Run) -> None:
        if self.prompt_report is not None:
            keep_prompt_report(tx, run.session_key, self.prompt_report)

    async def cleanup(self, run: Run, outcome: Outcome) -> None:  # noqa: ARG002
        if self.bootstrap is not None and outcome == "completed":
            await asyncio.to_thread(self.bootstrap.set_aside)


def _left_nothing(tx: Tx, run: Run) -> bool:
    """Whether later turns need not know of this one: it did nothing, and no news were told in it."""
    opened = [item for item in items_of_run(tx, run.id) if item.event_id]
    told = any(events_before(tx, item) for item in opened)
    return not told and len(opened) == 1 and not read_calls(tx, run.id, MAIN_TRANSCRIPT)
