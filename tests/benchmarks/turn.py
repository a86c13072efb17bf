"""What a turn with one tool call costs: durable on SQLite and PostgreSQL, beside loops that keep nothing."""

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
from sqlalchemy import func, select

from colleague.agent.advance import Advancer
from colleague.agent.events import Bus
from colleague.agent.models.connections import Connections
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.think import think
from colleague.agent.run_spec import RunSpec
from colleague.agent.tool import Tool, ToolOutput, ToolRequest, ToolSpec
from colleague.agent.toolbox import Toolbox
from colleague.clock import SystemClock
from colleague.store.accept import Arrival, accept
from colleague.store.postgresql import PostgresDatabase
from colleague.store.run import Run
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tables import runs
from colleague.store.tx import Database
from colleague.store.worker import Worker

TURNS = 200
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
    """The same setting for every run."""

    tool: Tool

    async def assemble(self, run: Run) -> RunSpec:
        return RunSpec(owner="bench", model=MODEL, system="", toolbox=Toolbox([self.tool]))


async def durable(database: Database, tool: Tool) -> float:
    """Milliseconds a turn: accepted beforehand, one after another in one lane."""
    arrival = Arrival("bench", "t", "bench", "{}", "s", "bench/t", inputs=json.dumps({"message": "go"}))
    for _ in range(TURNS):
        await database.write(lambda tx: accept(tx, arrival))
    open_runs = select(func.count()).select_from(runs).where(runs.c.status != "done")
    async with Connections() as connections:
        worker = Worker(database, Advancer(database, Assembler(tool), Bus(), connections))
        started = time.perf_counter()
        working = asyncio.create_task(worker.run())
        while await database.read(lambda tx: tx.execute(open_runs).scalar_one()):
            await asyncio.sleep(0.05)
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
    measured: dict[str, float] = {}
    for name, case in CASES.items():
        try:
            measured[name] = asyncio.run(case())  # type: ignore[arg-type]
        except ImportError as error:
            print(f"{name:36} not installed ({error.name})")
    base = measured["bare loop, nothing kept"]
    for name, milliseconds in measured.items():
        print(f"{name:36} {milliseconds:7.2f} ms a turn {milliseconds / base:6.1f}x bare")


if __name__ == "__main__":
    main()
