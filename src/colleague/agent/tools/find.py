"""The tool that finds files by name."""

from __future__ import annotations

import asyncio

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import Arguments, number, parameters, text
from colleague.agent.tools.file_tool import FileTool
from colleague.agent.tools.folder import TreeEntry
from colleague.agent.tools.glob import Glob
from colleague.agent.tools.path import escaped, join
from colleague.agent.tools.tree import MOST_ENTRIES_WALKED

_MOST = 500


class FindTool(FileTool):
    """`find`: paths that match a pattern."""

    spec = ToolSpec(
        name="find",
        description=(
            "Finds files and folders by a pattern such as *.md, notes-?.md, knowledge/**/*.{md,txt}. "
            "A pattern without / is about the name, in whatever folder."
        ),
        parameters=parameters(
            "pattern",
            pattern=text("What to find"),
            path=text("Folder to look in; all of the tree when not given"),
            limit=number(f"How many paths at most; {_MOST} when not given"),
        ),
        read_only=True,
        repeatable=True,
    )

    async def answer(self, arguments: Arguments, request: ToolRequest) -> ToolOutput:  # noqa: ARG002
        path, limit = arguments.text("path", "."), arguments.number("limit", _MOST)
        glob = Glob(arguments.text("pattern"))
        found, complete = await asyncio.to_thread(self._found, path, glob)
        lines = [escaped(each.path) + "/" * (each.kind == "folder") for each in found[:limit]]
        if len(found) > limit:
            lines.append(f"[{len(found) - limit} more; raise limit, or narrow the pattern]")
        if not complete:
            lines.append(f"[only the first {MOST_ENTRIES_WALKED:,} entries were looked at; name a folder]")
        return ToolOutput("\n".join(lines) or "[nothing matches]", source=self.source(path))

    def _found(self, path: str, glob: Glob) -> tuple[list[TreeEntry], bool]:
        """A pattern may be meant from the top or from the folder; both are looked at."""
        walked = self.tree.walk(path)
        start = join(self.tree.name_of(path), "")
        found = [
            each
            for each in walked.entries
            if glob.matches(each.path) or glob.matches(each.path.removeprefix(start))
        ]
        return found, walked.complete
