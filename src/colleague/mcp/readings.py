"""What else a server offers to read: resources and prompts. All of it is data of others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from colleague.mcp.answer import described_content
from colleague.mcp.errors import CallNotSent

if TYPE_CHECKING:
    from mcp.client import Client

T = TypeVar("T")
MOST_LISTED = 500
LONGEST_TEXT = 200_000
LONGEST_DESCRIPTION = 500
CUT = "\n[... the rest is left out ...]"


class Readings:
    """The resources and prompts of one connection."""

    def __init__(self, server: str, client: Client, redact: Callable[[str], str]) -> None:
        self._server, self._client, self._redact = server, client, redact

    async def resources(self, seconds: float) -> list[dict[str, Any]]:
        """Addresses, and templates of addresses, each with what it is."""
        if self._client.server_capabilities.resources is None:
            return []

        async def ask() -> list[dict[str, Any]]:
            plain = (await self._client.list_resources()).resources
            patterns = (await self._client.list_resource_templates()).resource_templates
            found = [_entry(each, uri=str(each.uri)) for each in plain]
            return [*found, *(_entry(each, template=each.uri_template) for each in patterns)][:MOST_LISTED]

        return await self._asked("list its resources", ask, seconds)

    async def read(self, uri: str, seconds: float) -> str:
        async def ask() -> str:
            contents = (await self._client.read_resource(uri)).contents
            return "\n".join(_text(each) for each in contents)

        return _cut(await self._asked(f"let {uri!r} be read", ask, seconds))

    async def prompts(self, seconds: float) -> list[dict[str, Any]]:
        if self._client.server_capabilities.prompts is None:
            return []

        async def ask() -> list[dict[str, Any]]:
            found = (await self._client.list_prompts()).prompts
            return [_entry(each, arguments=_arguments(each)) for each in found][:MOST_LISTED]

        return await self._asked("list its prompts", ask, seconds)

    async def prompt(self, name: str, arguments: Mapping[str, str], seconds: float) -> str:
        async def ask() -> str:
            messages = (await self._client.get_prompt(name, dict(arguments))).messages
            return "\n\n".join(
                f"{each.role}: {' '.join(described_content([each.content]))}" for each in messages
            )

        return _cut(await self._asked(f"give the prompt {name!r}", ask, seconds))

    async def _asked(self, what: str, ask: Callable[[], Awaitable[T]], seconds: float) -> T:
        """Reading changes nothing, so whatever goes wrong is one sentence."""
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        try:
            async with asyncio.timeout(seconds):
                return await ask()
        except TimeoutError:
            reason = f"it did not answer within {seconds:g} s"
        except MCPError as error:
            reason = self._redact(error.message)
        except (ValidationError, ValueError, RuntimeError):
            reason = "its answer is not valid"
        raise CallNotSent(f"MCP server {self._server} does not {what}: {reason}", server=self._server)


def _entry(found: Any, **more: Any) -> dict[str, Any]:
    entry = {"name": found.name, **more, "description": (found.description or "")[:LONGEST_DESCRIPTION]}
    return {key: value for key, value in entry.items() if value}


def _arguments(prompt: Any) -> list[str]:
    return [each.name if each.required else f"{each.name}?" for each in prompt.arguments or []]


def _text(content: Any) -> str:
    text = getattr(content, "text", None)
    return (
        text if text is not None else f"[{content.mime_type or 'binary'}, {len(content.blob) * 3 // 4} bytes]"
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - len(CUT)] + CUT
