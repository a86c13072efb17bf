"""All that a model was sent and said: a line in a file, or a block on stderr."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from colleague.agent.tracing.chat_record import ChatRecord
from colleague.agent.tracing.record import Document
from colleague.agent.tracing.switches import ModelPayload
from colleague.agent.tracing.trajectory_folder import file_name


def payload_file(folder: Path, provider: str) -> Path:
    """Each provider has its own."""
    return folder / f"{file_name(provider).removesuffix('.jsonl')}-payload.jsonl"


def payload(chat: ChatRecord) -> Document:
    """The whole request and the whole answer of one try."""
    return {
        **chat.about(),
        "system": chat.system,
        "tools": chat.tools(),
        "messages": chat.messages(),
        "response": chat.response(),
        **chat.outcome(),
    }


def block(chat: ChatRecord, mode: ModelPayload) -> str:
    """One model call for a person who watches stderr. Not cleaned yet."""
    head = f"[model payload] {chat.at} {chat.model.name} run {chat.run} {chat.key}"
    return "\n".join([head, *(f"  {line}" for line in _LINES[mode](chat)), ""])


def _tools(chat: ChatRecord) -> list[str]:
    found = [(tool["name"], len(json.dumps(tool, ensure_ascii=False, default=str))) for tool in chat.tools()]
    total = sum(size for _, size in found)
    return [f"tools: {len(found)}, {total} characters", *(f"  {name} {size}" for name, size in found)]


def _summary(chat: ChatRecord) -> list[str]:
    kinds = Counter(part["part_kind"] for message in chat.messages() for part in message["parts"])
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    said = json.dumps(chat.messages(), ensure_ascii=False)
    return [
        f"system: {len(chat.system)} characters; {_tools(chat)[0]}",
        f"messages: {len(chat.request.messages)}, {len(said)} characters ({counted})",
        *_answer(chat),
    ]


def _answer(chat: ChatRecord) -> list[str]:
    if chat.reply is None:
        return [f"failed: {chat.error}"]
    calls = ", ".join(call.tool_name for call in chat.reply.tool_calls)
    asked = f"; calls {calls}" if calls else ""
    used = chat.reply.usage
    tokens = (
        f"{used.input_tokens} in ({used.cache_read_tokens} cached, {used.cache_write_tokens} written), "
        f"{used.output_tokens} out"
    )
    cost = "" if chat.reply.cost is None else f", ${chat.reply.cost:.4f}"
    return [
        f"answer: {len(chat.reply.text)} characters, {chat.reply.finish_reason}{asked}",
        f"tokens: {tokens if used.measured else 'not told'}{cost}; {chat.reply.seconds:.2f} s",
    ]


def _full(chat: ChatRecord) -> list[str]:
    return json.dumps(payload(chat), ensure_ascii=False, indent=2, default=str).splitlines()


_LINES = {"tools": _tools, "summary": _summary, "full-redacted": _full}
