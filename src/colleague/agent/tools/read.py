"""The tool that reads a file, and remembers that its run has seen it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from colleague.agent.documents.extract import USUAL_SECONDS, NoDocumentText, document_text
from colleague.agent.documents.kind import document_kind
from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import ArgumentError, Arguments, flag, number, parameters, text
from colleague.agent.tools.file_tool import FileTool
from colleague.agent.tools.page import MOST_LINES, TextPage, count_lines, kind_of, page
from colleague.agent.tools.path import escaped
from colleague.agent.tools.tree import Content
from colleague.agent.tools.versioned import VersionedTree

_UNSEEN = TextPage("", 0, 0, 0)
"""Of a file that is no text: none of its characters."""


class ReadTool(FileTool):
    """`read`: a file, or a part of it."""

    spec = ToolSpec(
        name="read",
        description=(
            "Reads a text file, or the text of a PDF, Word, Excel or PowerPoint file. Long files come in "
            "parts; the end of a part says how to read on. "
            "A file must have been read in whole before it is replaced with write."
        ),
        parameters=parameters(
            "path",
            path=text("Path in the tree, such as state/pipeline.md"),
            offset=number("First line to read, from 1"),
            limit=number(f"How many lines at most; {MOST_LINES} when not given"),
            column=number("Where to begin in the first line, from 1; for very long lines"),
            line_numbers=flag("Put the number in front of every line"),
        ),
        read_only=True,
        repeatable=True,
    )

    def __init__(self, files: VersionedTree, run_id: str) -> None:
        super().__init__(files.tree)
        self._files = files
        self._run_id = run_id

    async def answer(self, arguments: Arguments, request: ToolRequest) -> ToolOutput:
        window = _Window.of(arguments)
        content = await asyncio.to_thread(self.tree.read, arguments.text("path"))
        kind = kind_of(content.data)
        part = _UNSEEN if kind else await asyncio.to_thread(window.part, content.path, _decoded(content))
        await self._files.note_read(self._run_id, request.call_id, content, part)
        if not kind:
            return ToolOutput(part.shown, source=self.source(content.path))
        return await self._document(content, kind, window, request.timeout or USUAL_SECONDS)

    async def _document(self, content: Content, kind: str, window: _Window, seconds: float) -> ToolOutput:
        """The text of a file that is no text itself, where it has some."""
        what = f"{escaped(content.path)} is {kind} of {len(content.data):,} bytes, which is not shown as text"
        document = document_kind(content.path, content.data)
        if document is None:
            return ToolOutput(f"{what}.")
        try:
            found = await document_text(content.data, document, seconds)
        except NoDocumentText as error:
            return ToolOutput(f"{what}: {error}.")
        part = await asyncio.to_thread(window.part, content.path, found.text)
        return ToolOutput(part.shown, source=self.source(content.path))


def _decoded(content: Content) -> str:
    return content.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class _Window:
    """Which part of a file is asked for."""

    offset: int
    limit: int
    column: int
    numbered: bool

    @classmethod
    def of(cls, arguments: Arguments) -> _Window:
        return cls(
            arguments.number("offset", 1),
            arguments.number("limit", MOST_LINES),
            arguments.number("column", 1),
            arguments.flag("line_numbers"),
        )

    def part(self, path: str, whole: str) -> TextPage:
        lines = count_lines(whole)
        if self.offset > max(lines, 1):
            raise ArgumentError(f"{escaped(path)} has {lines} lines; offset {self.offset} is past its end.")
        return page(whole, line=self.offset, column=self.column, limit=self.limit, numbered=self.numbered)
