"""The tool that reads a part of a memory file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from colleague.agent.tool import ToolOutput, ToolSpec
from colleague.agent.tools.arguments import ArgumentError, Arguments, number, parameters, text
from colleague.agent.tools.memory_files import MemoryFiles
from colleague.agent.tools.memory_tool import MemoryTool
from colleague.agent.tools.page import MOST_LINES, count_lines, kind_of, page
from colleague.agent.tools.path import MissingPath, escaped
from colleague.agent.tools.tree import MOST_BYTES_READ, Content
from colleague.suggest import close_names

_MOST_COMPARED = 1_000


class MemoryGetTool(MemoryTool):
    """`memory_get`: lines of one file of the memory."""

    spec = ToolSpec(
        name="memory_get",
        description=(
            "Reads lines of a memory file that memory_search found: MEMORY.md or a file in memory/. "
            "Before you change a file, read it with read."
        ),
        parameters=parameters(
            "path",
            path=text("Path as memory_search gives it, such as memory/2026-01-31.md"),
            **{
                "from": number("First line, from 1"),
                "lines": number("How many lines; as many as fit when not given"),
                "column": number("Where to begin in the first line, from 1; for very long lines"),
            },
        ),
        read_only=True,
        repeatable=True,
    )

    def __init__(self, memory: Callable[[], MemoryFiles], most_characters: int) -> None:
        self._memory = memory
        self._most = most_characters

    async def answer(self, arguments: Arguments) -> ToolOutput:
        return await asyncio.to_thread(self._answer, arguments)

    def _answer(self, arguments: Arguments) -> ToolOutput:
        path = arguments.text("path")
        try:
            content = self._memory().read(path, most=MOST_BYTES_READ)
        except MissingPath as missing:
            return ToolOutput(self._instead(missing), is_error=True, source="files")
        if kind := kind_of(content.data):
            size = f"{len(content.data):,} bytes"
            return ToolOutput(f"{escaped(content.path)} is {kind} of {size}, which is not shown as text.")
        return ToolOutput(self._part(content, arguments), source=f"file:{content.path}")

    def _part(self, content: Content, arguments: Arguments) -> str:
        whole, first = content.data.decode("utf-8", "replace"), arguments.number("from", 1)
        if first > max(count_lines(whole), 1):
            raise ArgumentError(
                f"{escaped(content.path)} has {count_lines(whole)} lines; from {first} is past its end."
            )
        part = page(
            whole,
            line=first,
            column=arguments.number("column", 1),
            limit=arguments.number("lines", MOST_LINES, most=MOST_LINES),
            most=self._most,
            argument="from",
        )
        return part.shown

    def _instead(self, missing: MissingPath) -> str:
        paths = [entry.path for entry in self._memory().listed().entries[:_MOST_COMPARED]]
        near = " or ".join(map(escaped, close_names(missing.path, paths, most=3)))
        return f"{missing.message} {f'Did you mean {near}?' if near else 'Look with memory_search.'}"
