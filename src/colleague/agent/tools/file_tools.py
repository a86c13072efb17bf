"""The file tools of one run."""

from __future__ import annotations

from pathlib import Path

from colleague.agent.tool import Tool
from colleague.agent.tools.edit import EditTool
from colleague.agent.tools.find import FindTool
from colleague.agent.tools.grep import GrepTool
from colleague.agent.tools.ls import LsTool
from colleague.agent.tools.read import ReadTool
from colleague.agent.tools.run_files import RunFiles
from colleague.agent.tools.tree import Tree
from colleague.agent.tools.write import WriteTool
from colleague.store.tx import Database


def file_tools(tree: Tree, database: Database, *, owner: str, run_id: str, locks: Path) -> list[Tool]:
    """read, ls, find, grep, write and edit. `owner` is an expert or `main`; `locks` a folder of the home."""
    files = RunFiles(tree, database, owner, locks)
    return [
        ReadTool(files, run_id),
        LsTool(tree),
        FindTool(tree),
        GrepTool(tree),
        WriteTool(files, run_id),
        EditTool(files, run_id),
    ]
