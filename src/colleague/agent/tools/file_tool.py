"""What all file tools share: checked arguments, and errors as sentences instead of exceptions."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import Arguments
from colleague.agent.tools.nearest import explain
from colleague.agent.tools.path import Missing
from colleague.agent.tools.tree import Tree
from colleague.errors import ColleagueError


class FileTool(ABC):
    """A tool on one tree."""

    spec: ToolSpec

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    async def call(self, request: ToolRequest) -> ToolOutput:
        try:
            return await self.answer(Arguments.of(self.spec, request.arguments), request)
        except (ColleagueError, OSError) as error:
            return await self.error(error)

    @abstractmethod
    async def answer(self, arguments: Arguments, request: ToolRequest) -> ToolOutput:
        """Does it; a ColleagueError or OSError becomes an answer to the model."""

    async def error(self, error: ColleagueError | OSError) -> ToolOutput:
        if isinstance(error, Missing):
            text = await asyncio.to_thread(explain, self.tree, error)
        elif isinstance(error, ColleagueError):
            text = error.message
        else:
            text = f"{self.spec.name} did not work: {error.strerror or error}."
        return ToolOutput(text, is_error=True)

    def source(self, path: str) -> str:
        """What content of a path is marked with: nothing when it is our own word."""
        return "" if self.tree.is_trusted(path) else f"file:{path or '.'}"
