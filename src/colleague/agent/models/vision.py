"""Whether a model can look at pictures."""

from __future__ import annotations

import re

from colleague.agent.models.resolved import ResolvedModel

IMAGE = "image"

_FAMILIES = re.compile(
    r"claude-(?!2|instant)|gpt-4o|chatgpt-4o|gpt-4-turbo|gpt-4\.[1-9]|gpt-[5-9]|\bo[1-9](?!-(?:mini|preview))|\bo4-mini"
    r"|gemini|gemma-?[3-9]|llama-?4|pixtral|grok-[4-9]|llava|internvl|minicpm-v|moondream|vision|-?vl\b"
)
_BLIND = re.compile(r"audio|realtime|transcribe|tts|embed|gemma-?3:?-?(?:1b|270m)|gpt-5-?oss")


def sees(model: ResolvedModel) -> bool:
    """What the settings say (`input` of the model); else what is known of models of that name.

    In doubt it does not: a picture that is only named costs less than a request that is refused."""
    if model.input is not None:
        return IMAGE in model.input
    name = model.id.casefold()
    return model.stand_in is None and bool(_FAMILIES.search(name)) and not _BLIND.search(name)
