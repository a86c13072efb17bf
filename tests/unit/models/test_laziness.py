"""What talking to models loads, and when."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import importlib, pkgutil, sys
import colleague.agent.models, colleague.cli.model
for each in pkgutil.iter_modules(colleague.agent.models.__path__):
    importlib.import_module(f"colleague.agent.models.{each.name}")
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_the_library_is_loaded_on_the_first_request() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "colleague" in loaded
    assert not loaded & {"pydantic_ai", "openai", "anthropic", "google", "httpx2", "genai_prices"}
