"""Providers that need no settings: a key in the environment is enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from colleague.agent.models.resolved import Api, Key


@dataclass(frozen=True)
class BuiltIn:
    """A provider we know: its protocol, where its key is looked for, and the model to begin with."""

    id: str
    api: Api
    variables: tuple[str, ...]
    first_model: str

    def key(self, environ: Mapping[str, str]) -> Key | None:
        found = next((name for name in self.variables if environ.get(name)), None)
        return Key(environ[found], found) if found else None


BUILT_IN: Mapping[str, BuiltIn] = {
    each.id: each
    for each in (
        BuiltIn("anthropic", "anthropic-messages", ("ANTHROPIC_API_KEY",), "claude-sonnet-4-5"),
        BuiltIn("openai", "openai-responses", ("OPENAI_API_KEY",), "gpt-5-mini"),
        BuiltIn("google", "google", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini-2.5-flash"),
    )
}
