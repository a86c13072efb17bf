"""How much a model can read."""

from __future__ import annotations

from colleague.agent.models.resolved import ResolvedModel


def context_window(model: ResolvedModel) -> int | None:
    """Tokens, from the settings; else, at a provider's own address, as publicly known. None: nobody knows."""
    if model.context_window is not None or model.stand_in is not None or model.base_url is not None:
        return model.context_window
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, known = get_snapshot().find_provider_model(
            model.id, provider=None, provider_id=model.provider, provider_api_url=None
        )
    except LookupError:
        return None
    return known.context_window
