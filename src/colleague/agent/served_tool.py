"""A tool of an MCP server, as the loop sees it."""

from __future__ import annotations

from dataclasses import dataclass

from colleague.agent.tool import (
    AskingTool,
    InputNeeded,
    NotSent,
    PersonNeeded,
    ToolInput,
    ToolOutput,
    ToolRequest,
    ToolSpec,
    UnknownEnd,
)
from colleague.mcp import errors
from colleague.mcp.call import CallProgress
from colleague.mcp.elicitation import GivenAnswer, InputRequired, QuestionAnswer
from colleague.mcp.mcp_tool import McpTool
from colleague.mcp.servers import Servers


@dataclass(frozen=True)
class ServedTool(AskingTool):
    """One tool of one server, under the name the model uses."""

    servers: Servers
    spec: ToolSpec

    async def call(self, request: ToolRequest) -> ToolOutput:
        return await self._made(request, None)

    async def go_on(self, request: ToolRequest, answer: ToolInput) -> ToolOutput:
        return await self._made(request, GivenAnswer(answer.pending, _answer(answer)))

    async def _made(self, request: ToolRequest, answer: GivenAnswer | None) -> ToolOutput:
        spec = self.spec

        async def progress(made: CallProgress) -> None:
            request.on_progress(made.message or f"{made.progress:g}")

        try:
            answered = await self.servers.call(
                spec.server,
                spec.server_tool,
                request.arguments,
                key=request.key,
                launch_digest=spec.launch_digest,
                timeout=request.timeout,
                on_progress=progress,
                answer=answer,
                given=[(each.digest, _answer(each)) for each in request.given],
                on_sampling=request.on_sampling,
            )
        except InputRequired as asked:
            raise _needed(spec.server, asked) from None
        except errors.Unknown as error:
            raise UnknownEnd(error.message) from None
        except errors.LoginNeeded as error:
            raise PersonNeeded(error.sentence) from None
        except errors.McpError as error:
            raise NotSent(error.sentence) from None
        return ToolOutput(answered.text, answered.is_error, f"mcp:{spec.server}/{spec.server_tool}")


@dataclass(frozen=True)
class LoginNeededTool:
    """Stands for the tools of a server that a person has to log in at, so that the agent can say so."""

    error: errors.LoginNeeded

    @property
    def spec(self) -> ToolSpec:
        server = self.error.server
        return ToolSpec(
            name=f"{server}.login_needed",
            description=f"Its tools cannot be used yet; tell the person: {self._text}",
            parameters={"type": "object", "properties": {}},
            read_only=True,
            repeatable=True,
            server=server,
            server_tool="login_needed",
        )

    @property
    def _text(self) -> str:
        return f"{self.error.message} ({self.error.hint})"

    async def call(self, request: ToolRequest) -> ToolOutput:  # noqa: ARG002 - as called
        return ToolOutput(self._text, is_error=True)


def _answer(given: ToolInput) -> QuestionAnswer:
    return QuestionAnswer(given.action, given.content)


def _needed(server: str, asked: InputRequired) -> InputNeeded:
    question = asked.question
    return InputNeeded(
        f"The MCP server {server} asks: {question.message}",
        digest=question.digest,
        schema=dict(question.schema),
        defaults=question.defaults,
        url=question.url,
        pending=asked.pending,
    )


def served_tool(
    servers: Servers, tool: McpTool, name: str = "", *, repeatable: bool = False, reads: bool = False
) -> ServedTool:
    """`repeatable` and `reads` are what others say of the tool beside its server."""
    spec = ToolSpec(
        name=name or f"{tool.server}.{tool.name}",
        description=tool.description or tool.title,
        parameters=dict(tool.input_schema),
        read_only=reads or tool.read_only,
        repeatable=repeatable or reads or tool.read_only or tool.idempotent,
        server=tool.server,
        server_tool=tool.name,
        launch_digest=tool.launch_digest,
    )
    return ServedTool(servers, spec)
