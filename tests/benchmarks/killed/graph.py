"""LangGraph with AsyncSqliteSaver: graph.py URL FOLDER.

The thread is resumed as its documentation says: invoked with None where a checkpoint is there. Every step is
written before the next one begins (durability="sync"), which is the strictest that it offers."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import httpx2

sys.path.append(os.environ.get("KILL_SITE", ""))

from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

URL, FOLDER = sys.argv[1], sys.argv[2]


async def post(path: str, document: Any) -> Any:
    async with httpx2.AsyncClient(timeout=60) as client:
        return (await client.post(URL + path, json=document)).raise_for_status().json()


@tool
async def append(line: str) -> str:
    """Write a line into the ledger."""
    await post("/ledger", {"text": line})
    return "written"


async def ask_model(state: MessagesState) -> dict[str, list[BaseMessage]]:
    messages = convert_to_openai_messages(state["messages"])
    asked = {"model": "m1", "messages": messages, "tools": [convert_to_openai_tool(append)]}
    said = (await post("/v1/chat/completions", asked))["choices"][0]["message"]
    calls = [
        {
            "name": each["function"]["name"],
            "args": json.loads(each["function"]["arguments"]),
            "id": each["id"],
        }
        for each in said.get("tool_calls", ())
    ]
    return {"messages": [AIMessage(said["content"] or "", tool_calls=calls)]}


def graph_with(saver: AsyncSqliteSaver) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", ask_model)
    builder.add_node("tools", ToolNode([append]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


async def work() -> None:
    config = {"configurable": {"thread_id": "one"}}
    async with AsyncSqliteSaver.from_conn_string(f"{FOLDER}/graph.sqlite") as saver:
        graph = graph_with(saver)
        known = await saver.aget_tuple(config)
        job = None if known else {"messages": [("user", "Write one line.")]}
        result = await graph.ainvoke(job, config, durability="sync")
        await post("/delivered", {"text": result["messages"][-1].content})


asyncio.run(work())
