"""What a turn with one tool call costs: durable on SQLite and PostgreSQL, beside loops that keep nothing.

Each case is measured in several rounds, in turn with the others, and its best round counts: a machine that
is busy for a while is then unfair to none. LangGraph is no dependency of ours; its case runs where langgraph
and langgraph-checkpoint-sqlite are installed."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from colleague.agent.advance import Advancer
from colleague.agent.events import EventBus
from colleague.agent.models.connections import Connections
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolve import Routes
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.think import think
from colleague.agent.run_spec import RunSpec
from colleague.agent.tool import Tool, ToolOutput, ToolRequest, ToolSpec
from colleague.agent.toolbox import Toolbox
from colleague.clock import SystemClock
from colleague.store.accept import Arrival, accept
from colleague.store.claims import Taken
from colleague.store.postgresql import PostgresDatabase
from colleague.store.run import Run
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tx import Database
from colleague.store.worker import Advance, Worker

TURNS = 100
ROUNDS = 5
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def _answers(messages: list[ModelMessage]) -> int:
    return sum(message.kind == "response" for message in messages)


def reply(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    if _answers(messages) % 2 == 0:
        return ModelResponse(
            parts=[ToolCallPart("echo", {"text": "hello"}, tool_call_id=f"c{len(messages)}")]
        )
    return ModelResponse(parts=[TextPart("done")])


async def stream(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
    if _answers(messages) % 2 == 0:
        yield {0: DeltaToolCall("echo", json.dumps({"text": "hello"}), tool_call_id=f"c{len(messages)}")}
    else:
        yield "done"


class Scripted:
    """Opens the same scripted model for every request."""

    def open(self) -> FunctionModel:
        return FunctionModel(reply, stream_function=stream)


MODEL = ResolvedModel("script", "bench", stand_in=Scripted())


class Echo:
    """A tool of our own that does nothing much."""

    spec = ToolSpec("echo", "Say it again", SCHEMA)

    async def call(self, request: ToolRequest) -> ToolOutput:
        return ToolOutput(str(request.arguments["text"]))


class ReadingEcho(Echo):
    """The same, known to change nothing."""

    spec = ToolSpec("echo", "Say it again", SCHEMA, read_only=True)


@dataclass(frozen=True)
class Assembler:
    """The same RunSpec for every run."""

    tool: Tool

    async def assemble(self, run: Run) -> RunSpec:
        return RunSpec(owner="bench", routes=Routes((MODEL,)), system="", toolbox=Toolbox([self.tool]))


class Counted:
    """Advances runs, and knows when the last one has ended."""

    def __init__(self, advance: Advance, runs: int) -> None:
        self.done = asyncio.Event()
        self._advance = advance
        self._left = runs

    async def __call__(self, taken: Taken) -> None:
        await self._advance(taken)
        self._left -= 1
        if not self._left:
            self.done.set()


async def durable(database: Database, tool: Tool) -> float:
    """Milliseconds a turn: accepted beforehand, one after another in one lane."""
    arrival = Arrival("bench", "t", "bench", "{}", "s", "bench/t", inputs=json.dumps({"message": "go"}))
    for _ in range(TURNS):
        await database.write(lambda tx: accept(tx, arrival))
    async with Connections() as connections:
        counted = Counted(Advancer(database, Assembler(tool), EventBus(), connections), TURNS)
        worker = Worker(database, counted)
        started = time.perf_counter()
        working = asyncio.create_task(worker.run())
        await counted.done.wait()
        seconds = time.perf_counter() - started
        worker.stop()
        await working
    await database.close()
    return seconds / TURNS * 1000


async def bare() -> float:
    """The loop without a store: two requests and the tool."""
    from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

    async with Connections() as connections:
        started = time.perf_counter()
        for _ in range(TURNS):
            messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("go")])]
            answer = await think(MODEL, ThinkRequest(messages), connections=connections)
            messages.append(answer.response)
            [call] = answer.tool_calls
            said = await Echo().call(ToolRequest("r", "c", "k", call.args_as_dict()))
            messages.append(
                ModelRequest(parts=[ToolReturnPart("echo", said.text, tool_call_id=call.tool_call_id)])
            )
            await think(MODEL, ThinkRequest(messages), connections=connections)
        return (time.perf_counter() - started) / TURNS * 1000


async def library_agent() -> float:
    """pydantic-ai's own Agent, which keeps nothing."""
    from pydantic_ai import Agent

    agent = Agent(FunctionModel(reply, stream_function=stream))

    @agent.tool_plain
    def echo(text: str) -> str:
        return text

    started = time.perf_counter()
    for _ in range(TURNS):
        async with agent.run_stream("go") as result:
            await result.get_output()
    return (time.perf_counter() - started) / TURNS * 1000


async def langgraph() -> float:
    """LangGraph with its own durable checkpoints in SQLite."""
    from langchain_core.messages import AIMessage, ToolMessage
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import END, START, MessagesState, StateGraph

    def model(state: Any) -> Any:
        if isinstance(state["messages"][-1], ToolMessage):
            return {"messages": [AIMessage("done")]}
        return {
            "messages": [AIMessage("", tool_calls=[{"name": "echo", "args": {"text": "hello"}, "id": "c"}])]
        }

    def tool(state: Any) -> Any:
        return {"messages": [ToolMessage("hello", tool_call_id="c")]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda s: "tool" if s["messages"][-1].tool_calls else END)
    graph.add_edge("tool", "model")
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncSqliteSaver.from_conn_string(f"{folder}/lg.sqlite") as saver:
            app = graph.compile(checkpointer=saver)
            started = time.perf_counter()
            for number in range(TURNS):
                await app.ainvoke(
                    {"messages": [("user", "go")]}, {"configurable": {"thread_id": str(number)}}
                )
            return (time.perf_counter() - started) / TURNS * 1000


async def on_sqlite(tool: Tool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return await durable(SqliteDatabase(Path(folder) / "bench.sqlite", SystemClock()), tool)


async def on_postgresql() -> float:
    import pgserver

    with tempfile.TemporaryDirectory() as folder:
        server = pgserver.get_server(folder, cleanup_mode="stop")
        try:
            return await durable(PostgresDatabase(server.get_uri(), SystemClock()), Echo())
        finally:
            server.cleanup()


CASES: dict[str, Callable[[], Awaitable[float]]] = {
    "bare loop, nothing kept": bare,
    "pydantic-ai Agent, nothing kept": library_agent,
    "ours, durable on SQLite (FULL)": lambda: on_sqlite(Echo()),
    "ours, the same with a reading tool": lambda: on_sqlite(ReadingEcho()),
    "ours, durable on PostgreSQL": on_postgresql,
    "LangGraph, AsyncSqliteSaver": langgraph,
}


def main() -> None:
    rounds: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(ROUNDS):
        for name, case in list(CASES.items()):
            try:
                rounds[name].append(asyncio.run(case()))  # type: ignore[arg-type]
            except ImportError as error:
                print(f"{name:36} not installed ({error.name})")
                del CASES[name]
    measured = {name: min(found) for name, found in rounds.items() if found}
    base = measured["bare loop, nothing kept"]
    for name, milliseconds in measured.items():
        print(f"{name:36} {milliseconds:7.2f} ms a turn {milliseconds / base:6.1f}x bare")


if __name__ == "__main__":
    main()
