"""The names of the main agent's things. Three of them are spelled alike and mean different things."""

from __future__ import annotations

MAIN_AGENT = "main"
"""The id of the main agent, under which people see its runs."""
MAIN_SESSION = "agent:main:main"
"""The key of the session in which people talk to it."""
MAIN_CHANNEL = "main"
"""The channel whose messages are for that session."""
MAIN_TRANSCRIPT = "main"
"""The transcript of a run itself, beside those of the sessions inside its calls."""
