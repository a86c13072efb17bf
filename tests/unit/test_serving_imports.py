"""What a gateway that serves does not hold in memory."""

from __future__ import annotations

import subprocess
import sys

PROVIDERS = {"openai", "anthropic", "google.genai", "botocore", "litellm"}
OTHERS = {"mcp", "psycopg", "rich", "prompt_toolkit"}
OPTIONAL = {"playwright", "trafilatura", "slack_sdk", "discord", "opentelemetry.sdk", "numpy", "PIL"}
SERVING = """
import gc, sys
import colleague.cli.main, colleague.gateway.serve
colleague.gateway.serve._import_model_layer()
from pydantic import TypeAdapter
from colleague.gateway import app
routes = [route for router in (*app.OPEN, *app.PAGE, *app.GUARDED) for route in router.routes]
print(len(routes), sum(isinstance(each, TypeAdapter) for each in gc.get_objects()))
print(*sys.modules)
"""


def test_a_gateway_imports_what_it_needs_and_builds_no_validator_for_errors() -> None:
    """A library is imported with its first use. An error response has no validator of its own on each route:
    there were six for each."""
    done = subprocess.run([sys.executable, "-c", SERVING], capture_output=True, text=True, check=True)
    counts, modules = done.stdout.splitlines()
    routes, validators = map(int, counts.split())
    assert routes > 100
    assert validators < 3 * routes
    assert "pydantic_ai" in modules.split()
    assert not set(modules.split()) & (PROVIDERS | OTHERS | OPTIONAL)
