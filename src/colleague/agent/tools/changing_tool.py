"""What `write` and `edit` share: prepared before, recovered after a crash, never done twice."""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod

from colleague.agent.tool import PreparedTool, ToolOutput, ToolRequest
from colleague.agent.tools.arguments import Arguments
from colleague.agent.tools.file_tool import FileTool
from colleague.agent.tools.page import MOST_LINES, TextPage, kind_of, page
from colleague.agent.tools.path import escaped
from colleague.agent.tools.tree import Content
from colleague.agent.tools.versioned import (
    ChangeRefused,
    CurrentFile,
    FileChange,
    VersionedTree,
    WrittenVersion,
)
from colleague.errors import ColleagueError
from colleague.store.versions import Author, hash_of


class ChangingTool(FileTool, PreparedTool):
    """A tool that changes one file, named by `path`."""

    whole = False

    def __init__(self, files: VersionedTree, run_id: str) -> None:
        super().__init__(files.tree)
        self._files = files
        self._run_id = run_id

    @abstractmethod
    def new_data(self, path: str, arguments: Arguments, before: bytes | None) -> bytes:
        """The file's new content; raises ChangeRefused when the arguments do not fit what is there."""

    def check(self, current: CurrentFile, after: bytes) -> None:
        """Raises ChangeRefused when the file may not be replaced by this."""

    async def prepare(self, request: ToolRequest) -> str:
        """The path, and the hash before and after; null where the call will be refused."""
        before = after = None
        path = str(request.arguments.get("path", ""))
        try:
            arguments = Arguments.of(self.spec, request.arguments)
            path = await asyncio.to_thread(self.tree.to_write, arguments.text("path"))
            content = await asyncio.to_thread(self.tree.read_if_there, path)
            data = content.data if content else None
            before = hash_of(data)
            after = hash_of(await asyncio.to_thread(self.new_data, path, arguments, data))
        except (ColleagueError, OSError):
            pass
        return json.dumps({"path": path, "before": before, "after": after})

    async def recover(self, request: ToolRequest, prepared: str) -> ToolOutput:
        """Its version is recorded: finished. The text is the one from before: done now. Else an error."""
        try:
            arguments = Arguments.of(self.spec, request.arguments)
            return await self._change(arguments, request, json.loads(prepared)["before"])
        except (ColleagueError, OSError) as error:
            return await self.error(error)

    async def answer(self, arguments: Arguments, request: ToolRequest) -> ToolOutput:
        return await self._change(arguments, request, None)

    async def _change(self, arguments: Arguments, request: ToolRequest, expected: str | None) -> ToolOutput:
        path = arguments.text("path")

        def make(current: CurrentFile) -> bytes:
            after = self.new_data(current.key.path, arguments, current.data)
            self.check(current, after)
            return after

        author = Author(self._run_id, request.call_id)
        try:
            written = await self._files.change(path, FileChange(author, make, self.whole, expected))
        except ChangeRefused as refusal:
            return await self._refused(refusal, request)
        return ToolOutput(_summary(written))

    async def _refused(self, refusal: ChangeRefused, request: ToolRequest) -> ToolOutput:
        """The error, with the text the model has to know; having been shown it, the model may try again."""
        content = refusal.shows
        if content is None:
            return ToolOutput(refusal.message, is_error=True)
        part = _excerpt(content)
        await self._files.note_read(self._run_id, request.call_id, content, part)
        return ToolOutput(f"{refusal.message}\n{part.shown}", is_error=True, source=self.source(content.path))


def _excerpt(content: Content) -> TextPage:
    kind = kind_of(content.data)
    if kind:
        return TextPage(f"[{kind} of {len(content.data):,} bytes]", 0, 0, 0)
    return page(content.data.decode("utf-8", "replace"), limit=MOST_LINES)


def _summary(written: WrittenVersion) -> str:
    path, version = escaped(written.path), written.version
    if version is None:
        return f"{path} has exactly this text already; nothing was changed."
    lines = version.data.count(b"\n") + (not version.data.endswith(b"\n") and version.data != b"")
    done = f"{path} is written: version {version.number}, {lines} lines, {len(version.data):,} bytes."
    return (
        done if written.in_place else f"{done} Someone else has changed it since; read it before you go on."
    )
