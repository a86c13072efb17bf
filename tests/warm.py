"""What a process that works on a home imports and builds first, so that its copies need not."""

import anyio._backends._asyncio
import jsonschema_rs
import mcp.client.streamable_http
import psycopg
import pydantic_ai.direct
import pydantic_ai.models.function
import sqlalchemy.dialects.postgresql.psycopg
import uvicorn
from pydantic_ai.messages import ModelResponse, TextPart

import colleague.cli.app
import colleague.cli.client
import colleague.gateway.serve
import colleague.mcp.http
import colleague.mcp.stdio
import colleague.store.postgresql
from colleague.agent.models.messages import from_json, to_json

__all__ = ["anyio", "colleague", "jsonschema_rs", "mcp", "psycopg", "pydantic_ai", "sqlalchemy", "uvicorn"]

from_json(to_json([ModelResponse(parts=[TextPart("warm")])]))
