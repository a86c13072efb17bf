"""A bare pydantic-ai Agent: bare_agent.py URL FOLDER. It keeps nothing: started again, it begins again."""

from __future__ import annotations

import sys

import httpx2
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

URL = sys.argv[1]


def post(path: str, text: str) -> None:
    httpx2.post(URL + path, json={"text": text}, timeout=60).raise_for_status()


def append(line: str) -> str:
    """Write a line into the ledger."""
    post("/ledger", line)
    return "written"


model = OpenAIChatModel("m1", provider=OpenAIProvider(base_url=f"{URL}/v1", api_key="none"))
agent = Agent(model, tools=[append])
post("/delivered", agent.run_sync("Write one line.").output)
