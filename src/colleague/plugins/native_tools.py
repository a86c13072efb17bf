"""The names of our own tools, also of those that are not offered everywhere: no plugin can take one."""

from __future__ import annotations

NATIVE_TOOLS = frozenset(
    [
        *("read", "write", "edit", "apply_patch", "grep", "find", "ls", "exec", "process"),
        *("browser", "canvas", "nodes", "cron", "gateway", "message", "memory_search", "memory_get"),
        *("web_search", "web_fetch", "image", "pdf", "tts", "skills", "proposals"),
        *("sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "subagents"),
        *("session_status", "agents_list", "whatsapp_login"),
    ]
)
