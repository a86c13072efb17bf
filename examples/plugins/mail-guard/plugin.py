"""Mail leaves only for the domains you name, and every call is written to an audit file.

Settings, in colleague.json:
  plugins: {entries: {"mail-guard": {config: {domains: ["example.com"], footer: "..."}}}}
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from .addresses import cleaned, strangers


def register(api: Any) -> None:
    domains = [str(each).lower() for each in api.config.get("domains", [])]
    footer = str(api.config.get("footer", ""))
    audit = api.data / "audit.jsonl"

    async def tell_the_rule(event: Any) -> dict[str, str]:  # noqa: ARG001
        return {"system_prompt": f"Mail goes only to these domains: {', '.join(domains) or 'none'}."}

    async def guard(event: Any) -> dict[str, Any] | None:
        """Blocks mail to strangers; writes addresses in small letters."""
        if "to" not in event.params:
            return None
        outside = strangers(event.params["to"], domains)
        if outside:
            return {
                "block": True,
                "reason": f"{', '.join(outside)} is outside of {', '.join(domains) or 'all domains'}",
            }
        return {"params": {**event.params, "to": cleaned(event.params["to"])}}

    def write_down(event: Any) -> None:
        made = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "tool": event.tool,
            "params": event.params,
        }
        with audit.open("a", encoding="utf-8") as file:
            file.write(json.dumps(made, ensure_ascii=False) + "\n")

    async def sign(event: Any) -> dict[str, str] | None:
        return {"text": f"{event.text}\n\n{footer}"} if footer and event.kind == "delivery" else None

    def read_audit(arguments: dict[str, Any], call: Any) -> str:  # noqa: ARG001
        lines = audit.read_text(encoding="utf-8").splitlines() if audit.exists() else []
        return "\n".join(lines[-int(arguments.get("last", 20)) :]) or "Nothing was called yet."

    api.on("before_agent_start", tell_the_rule)
    api.on("before_tool_call", guard, priority=100, required=True)
    api.on("after_tool_call", write_down)
    api.on("message_sending", sign)
    api.add_tool(
        "audit_read",
        "The last tool calls that were made, one JSON object a line.",
        read_audit,
        parameters={
            "type": "object",
            "properties": {"last": {"type": "integer", "minimum": 1, "maximum": 200}},
            "additionalProperties": False,
        },
        reads=True,
    )
