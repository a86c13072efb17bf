"""The tool that lists a folder."""

from __future__ import annotations

import asyncio

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import Arguments, number, parameters, text
from colleague.agent.tools.file_tool import FileTool
from colleague.agent.tools.folder import TreeEntry
from colleague.agent.tools.path import escaped

_MOST = 500


class LsTool(FileTool):
    """`ls`: what is in a folder."""

    spec = ToolSpec(
        name="ls",
        description="Lists a folder: folders end in /, files have their size. The top when no path is given.",
        parameters=parameters(
            path=text("Folder in the tree, such as state"),
            limit=number(f"How many entries at most; {_MOST} when not given"),
        ),
        read_only=True,
        repeatable=True,
    )

    async def answer(self, arguments: Arguments, request: ToolRequest) -> ToolOutput:  # noqa: ARG002
        path = arguments.text("path", ".")
        limit = arguments.number("limit", _MOST)
        entries = await asyncio.to_thread(self.tree.entries, path)
        lines = [self._line(entry) for entry in entries[:limit]]
        if len(entries) > limit:
            lines.append(f"[{len(entries) - limit} more; raise limit, or use find with a pattern]")
        return ToolOutput("\n".join(lines) or "[the folder is empty]", source=self.source(path))

    def _line(self, entry: TreeEntry) -> str:
        name = escaped(entry.name)
        if entry.kind == "file":
            return f"{name}  {entry.size:,} bytes"
        if entry.kind == "folder":
            return f"{name}/  read only" if entry.path in self.tree.read_only else f"{name}/"
        return f"{name}  {entry.kind}, cannot be used"
