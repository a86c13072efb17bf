"""A session with a model that knows only what it is shown, and a tool with long outputs."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from colleague.agent.advance import Advancer
from colleague.agent.context.rules import ContextRules
from colleague.agent.context.summarise import SYSTEM
from colleague.agent.events import EventBus
from colleague.agent.history import SessionHistory
from colleague.agent.models.connections import Connections
from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.resolve import Routes
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.run_spec import RunSpec
from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.agent.toolbox import Toolbox
from colleague.agent.turn_end import TurnEndHooks
from colleague.agent.turn_inputs import TurnInputs
from colleague.agent.turn_opening import TurnOpening
from colleague.clock import boot_time_ms
from colleague.config import Settings
from colleague.config.context import CompactionSettings
from colleague.run_event import RunEvent
from colleague.session_key import SessionKey
from colleague.sessions.messages import SessionMessage, send_message
from colleague.store.claims import take_some
from colleague.store.run import Run, get_run
from colleague.store.tx import Database
from tests.integration.agent.stage import Tiers

KEY = SessionKey.for_main()
FACT = re.compile(r"Fact: the code of (\w+) is ([\w-]+)\.")
Summarise = Callable[[str], str]


def facts_only(record: str) -> str:
    """A summary as a good model makes it: what was asked to be remembered, and nothing else."""
    facts = dict(FACT.findall(record))
    return "\n".join(f"Fact: the code of {name} is {code}." for name, code in facts.items()) or "Small talk."


def shown_texts(messages: list[Any]) -> list[str]:
    return [str(part.content) for each in messages for part in each.parts if isinstance(part.content, str)]


@dataclass
class Reader:
    """Answers a question about a code from what it is shown; fetches a page when it is told to."""

    summarise: Summarise = facts_only
    seen_chars: list[int] = field(default_factory=list)
    summaries: int = 0
    real_window: int | None = None
    """In characters, known to the provider alone."""

    def open(self) -> Any:
        from pydantic_ai.models.function import FunctionModel

        return FunctionModel(stream_function=self._play, model_name="reader")

    async def _play(self, messages: list[Any], info: Any) -> AsyncIterator[Any]:
        from pydantic_ai.models.function import DeltaToolCall

        parts = [part for each in messages for part in each.parts]
        texts = [str(getattr(part, "content", "")) for part in parts]
        size = sum(map(len, texts))
        self.seen_chars.append(size)
        if self.real_window is not None and size > self.real_window:
            said = f"prompt is too long: {size // 4} tokens > {self.real_window // 4} maximum"
            raise ModelFailure("context_overflow", f"reader: {said}")
        if SYSTEM in (info.instructions or "") or any(SYSTEM in text for text in texts):
            self.summaries += 1
            yield self.summarise(texts[-1])
            return
        last = parts[-1]
        asked = (
            re.search(r"What is the code of (\w+)\?", texts[-1]) if last.part_kind == "user-prompt" else None
        )
        if asked:
            known = dict(FACT.findall("\n".join(texts)))
            yield f"It is {known.get(asked[1], 'unknown to me')}."
        elif last.part_kind == "user-prompt" and "fetch" in texts[-1]:
            yield {0: DeltaToolCall("fetch", json.dumps({"page": 1}), tool_call_id=f"c{len(messages)}")}
        else:
            yield "Done."


@dataclass
class Pages:
    """A tool that reads long pages."""

    chars: int = 7_000
    calls: int = 0

    @property
    def spec(self) -> ToolSpec:
        parameters = {"type": "object", "properties": {"page": {"type": "integer"}}}
        return ToolSpec("fetch", "Fetch a page", parameters, read_only=True)

    async def call(self, request: ToolRequest) -> ToolOutput:
        self.calls += 1
        return ToolOutput(f"page {self.calls}: " + "lorem ipsum dolor " * (self.chars // 18), source="web")


@dataclass
class Desk:
    database: Database
    model: Reader = field(default_factory=Reader)
    window: int | None = 32_000
    pages: Pages = field(default_factory=Pages)
    compaction: dict[str, Any] = field(default_factory=dict)
    events: list[RunEvent] = field(default_factory=list)
    spec: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.history = SessionHistory(self.database)
        self.bus = EventBus()
        self.bus.watch(self.events.append)

    async def assemble(self, run: Run) -> RunSpec:
        opening = TurnOpening(self.database)
        rules = ContextRules(compaction=CompactionSettings.model_validate(self.compaction))
        model = ResolvedModel("test", "reader", context_window=self.window, stand_in=self.model)
        spec = RunSpec(
            owner="main",
            routes=Routes((model,)),
            system="You answer questions.",
            toolbox=Toolbox([self.pages]),
            gate=Tiers({"fetch": "auto"}),
            opening=opening,
            history=self.history.before,
            context=rules,
            compacts=TurnInputs.of(run).compact,
            end_hooks=TurnEndHooks(),
        )
        return replace(spec, **self.spec)

    async def say(self, text: str) -> Run:
        """One turn, worked on at once: no worker looks for it."""
        message = SessionMessage(text)
        sent = await self.database.write(lambda tx: send_message(tx, Settings(), KEY, message))
        await self.work()
        return await self.database.read(lambda tx: get_run(tx, str(sent.run_id)))

    async def work(self) -> None:
        asked_at = boot_time_ms()
        [taken] = await self.database.write(
            lambda tx: take_some(tx, "desk", self.database.lease_now(tx), "", 1)
        )
        taken.lease.renewed(asked_at)
        async with Connections() as connections:
            await Advancer(self.database, self, self.bus, connections)(taken)

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.kind == kind]
