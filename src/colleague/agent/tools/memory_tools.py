"""The memory tools of one agent."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from functools import cache, partial
from pathlib import Path

from colleague.agent.tool import Tool
from colleague.agent.tools.memory_files import memory_files
from colleague.agent.tools.memory_get import MemoryGetTool
from colleague.agent.tools.memory_index import VERSION, MemoryIndex
from colleague.agent.tools.memory_search import MemorySearchTool
from colleague.config.agents import AgentDefaults


def memory_tools(
    settings: AgentDefaults, workspace: Path, *, closed: Collection[Path], indexes: Path
) -> list[Tool]:
    """memory_search and memory_get; none when the settings say so. `closed` is what the agent's tree leaves
    out, `indexes` a folder of the home that no agent can read. Nothing is looked up before a call."""
    search = settings.memory_search
    if not search.enabled:
        return []
    memory = cache(partial(memory_files, workspace, search.extra_paths, closed))
    key = "\0".join((str(VERSION), os.path.realpath(workspace), *search.extra_paths))
    file = indexes / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.sqlite"
    limit = settings.context_limits.memory_get_max_chars
    return [MemorySearchTool(MemoryIndex(file, memory)), MemoryGetTool(memory, limit)]
