"""What a sub-agent is told beside the sections of the mode `minimal`: its role, and its task."""

from __future__ import annotations

import json
from typing import Any

from colleague.data_element import wrapped
from colleague.store.session_entry import SessionEntry

ROLE = (
    "You are a sub-agent: another agent started you for one task and waits for what you come to. Work on "
    "your own, do not ask back, do what the task says and nothing beyond it, and end with an answer in plain "
    "text that says what you did and found; your parent passes it on. Use the tool `message` only when the "
    "task explicitly tells you to contact somebody."
)

IN_THREAD = (
    "You are a sub-agent: another agent started you for one task, in a thread of your own. People read there "
    "what you answer, and what they write in it is said to you. Do what the task and they say and nothing "
    "beyond it. Use the tool `message` only when you are explicitly told to contact somebody elsewhere."
)


def subagent_context(entry: SessionEntry) -> str:
    origin = json.loads(entry.origin) if entry.origin else {}
    alone = origin.get("place") and not origin.get("announces", True)
    return "\n\n".join([f"## Sub-Agent\n\n{IN_THREAD if alone else ROLE}", *_task(origin)])


def _task(origin: dict[str, Any]) -> list[str]:
    if not origin:
        return []
    label = f", as {origin['label']}" if origin.get("label") else ""
    asked = f"Started by {origin.get('requester', 'another session')}{label}."
    return [f"## Task\n\n{asked}\n\n{wrapped(str(origin.get('task', '')), 'task')}"]
