"""What a process that works on a home imports and builds first, so that its copies need not."""

import importlib
import pkgutil
from pathlib import Path

import anyio._backends._asyncio
import cronsim
import genai_prices.data
import jsonschema_rs
import mcp.client.streamable_http
import psycopg
import pydantic_ai.direct
import pydantic_ai.models.anthropic
import pydantic_ai.models.function
import pydantic_ai.models.openai
import rich.logging
import ruamel.yaml
import uvicorn
from pydantic_ai.messages import ModelResponse, TextPart

import colleague.cli
import colleague.cli.app
import colleague.experts.bind
import colleague.gateway.serve
import colleague.mcp.http
import colleague.mcp.stdio
import colleague.mcp.watched_streams
import colleague.store.migrations
import colleague.store.postgresql
import colleague.store.sqlite
from colleague.agent.models.messages import from_json, to_json
from colleague.packages.package import read_package

__all__ = [
    "anyio",
    "colleague",
    "cronsim",
    "genai_prices",
    "jsonschema_rs",
    "mcp",
    "psycopg",
    "pydantic_ai",
    "rich",
    "ruamel",
    "uvicorn",
]

for found in pkgutil.iter_modules(colleague.cli.__path__, "colleague.cli."):
    importlib.import_module(found.name)
from_json(to_json([ModelResponse(parts=[TextPart("warm")])]))
read_package(Path(__file__).parents[1] / "examples" / "radiant-sales-expert")
