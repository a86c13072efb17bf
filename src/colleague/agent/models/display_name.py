"""What people call a model."""

from __future__ import annotations

from colleague.config import Settings


def display_name(settings: Settings, name: str) -> str:
    """As the settings call the model `provider/id`; empty when they do not."""
    provider, _, model_id = name.partition("/")
    entry = settings.models.providers.get(provider)
    found = next((each for each in entry.models if each.id == model_id), None) if entry else None
    return found.name or "" if found else ""
