"""The memory tools of one agent."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
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
    out, `indexes` a folder of the home that no agent can read."""
    search = settings.memory_search
    if not search.enabled:
        return []
    memory = memory_files(workspace, search.extra_paths, closed)
    key = "\0".join((str(VERSION), str(workspace.resolve()), *search.extra_paths))
    file = indexes / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.sqlite"
    limit = settings.context_limits.memory_get_max_chars
    return [MemorySearchTool(MemoryIndex(file, memory)), MemoryGetTool(memory, limit)]
