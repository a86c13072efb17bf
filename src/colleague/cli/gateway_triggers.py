"""What the running gateway says of the triggers: their secrets are in its environment, not in this one's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from colleague.home import Home

Problems = list[dict[str, str]]
"""Code, message and cure of each."""


async def problems_at_gateway(home: Home) -> dict[tuple[str, str], Problems] | None:
    """By expert and trigger. None without a gateway, or when it does not answer us."""
    from colleague.cli.gateway_answer import gateway_answer

    found = await gateway_answer(home, lambda gateway: gateway.triggers())
    if found is None:
        return None
    return {(each["expert"], each["trigger"]): each["problems"] for each in found}


async def with_gateway_problems(home: Home, documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Triggers as documents, with the problems that count: the gateway's where one runs."""
    known = await problems_at_gateway(home) or {}
    return [
        document | {"problems": known.get((document["expert"], document["trigger"]), document["problems"])}
        for document in documents
    ]
