"""What memory_search and memory_get share: errors as sentences for the model."""

from __future__ import annotations

from abc import ABC, abstractmethod

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import Arguments
from colleague.errors import ColleagueError


class MemoryTool(ABC):
    """A tool that reads the memory and changes nothing."""

    spec: ToolSpec

    async def call(self, request: ToolRequest) -> ToolOutput:
        try:
            return await self.answer(Arguments.of(self.spec, request.arguments))
        except ColleagueError as error:
            return ToolOutput(error.message, is_error=True)
        except OSError as error:
            return ToolOutput(f"{self.spec.name} did not work: {error.strerror or error}.", is_error=True)

    @abstractmethod
    async def answer(self, arguments: Arguments) -> ToolOutput:
        """Does it; a ColleagueError or OSError becomes an answer to the model."""
