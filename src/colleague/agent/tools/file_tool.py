"""What all file tools share: checked arguments, and errors as sentences instead of exceptions."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import replace

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import Arguments
from colleague.agent.tools.nearest import explain
from colleague.agent.tools.path import MissingPath
from colleague.agent.tools.tree import Tree
from colleague.errors import ColleagueError


class FileTool(ABC):
    """A tool on one tree."""

    spec: ToolSpec

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    async def call(self, request: ToolRequest) -> ToolOutput:
        """The answer; whatever it says of a hidden file is private."""
        try:
            output = await self.answer(Arguments.of(self.spec, request.arguments), request)
        except (ColleagueError, OSError) as error:
            output = await self.error(error)
        return replace(output, private=True) if self.is_private(request) else output

    def is_private(self, request: ToolRequest) -> bool:
        """Whether a call is about a hidden file."""
        path = request.arguments.get("path")
        return isinstance(path, str) and self.tree.is_hidden(path)

    @abstractmethod
    async def answer(self, arguments: Arguments, request: ToolRequest) -> ToolOutput:
        """Does it; a ColleagueError or OSError becomes an answer to the model."""

    async def error(self, error: ColleagueError | OSError) -> ToolOutput:
        if isinstance(error, MissingPath):
            text = await asyncio.to_thread(explain, self.tree, error)
            return ToolOutput(text, is_error=True, source="files")  # it may suggest names that others chose
        if isinstance(error, ColleagueError):
            text = error.message
        else:
            text = f"{self.spec.name} did not work: {error.strerror or error}."
        return ToolOutput(text, is_error=True)

    def source(self, path: str) -> str:
        """What content of a path is marked with: nothing when it is our own word."""
        return self.tree.source(path)
