"""How servers say that a request is too long. Many that imitate OpenAI have words of their own."""

from __future__ import annotations

import re

_WORDINGS = (
    r"prompt is too long",  # Anthropic
    r"prompt too long",  # Ollama
    r"input is too long",  # Bedrock
    r"exceeds? the (?:model'?s? )?context (?:window|length)",  # OpenAI Responses, SGLang
    r"maximum context length",  # OpenAI, vLLM, OpenRouter, Together
    r"context[_ ]length[_ ]exceeded",
    r"input token count.*exceeds",  # Google
    r"maximum prompt length is \d",  # xAI
    r"reduce the length of (?:the|your) (?:messages|prompt|input)",  # Groq
    r"prompt token count of \d+ exceeds the limit",  # GitHub Copilot
    r"exceeds the available context size|exceed_context_size",  # llama.cpp
    r"exceed context window of \d",  # llama-cpp-python
    r"greater than the context length|context size has been exceeded",  # LM Studio
    r"context window exceeds limit",  # MiniMax
    r"exceeded model token limit",  # Kimi
    r"too large for model with \d+ maximum context",  # Mistral
    r"longer than the (?:maximum model|model'?s? context) length",  # vLLM, SGLang
    r"inputs?`? tokens \+ `?max_new_tokens`? must be",  # TGI
    r"range of input length should be",  # Qwen
    r"tokens in request more than max tokens allowed|prompt exceeds max length",  # GLM
    r"too many (?:input )?tokens in (?:the )?(?:prompt|request|input)",
    r"request too large for .*tokens per min",  # OpenAI: larger than a whole minute's limit
    r"request_too_large|request exceeds the maximum (?:size|allowed number of bytes)",  # Anthropic, 413
)
_TOO_LONG = re.compile("|".join(_WORDINGS), re.IGNORECASE | re.DOTALL)


def says_too_long(text: str) -> bool:
    return _TOO_LONG.search(text) is not None
