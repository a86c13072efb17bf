"""Servers that say in their own words that a request is too long."""

from __future__ import annotations

import pytest

from colleague.agent.models.overflow import says_too_long


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long: 213462 tokens > 200000 maximum",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "This model's maximum context length is 128000 tokens. However, you requested 130000.",
        "This endpoint's maximum context length is 65536 tokens. However, you requested about 80000 tokens",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Please reduce the length of the messages or completion.",
        "prompt token count of 140000 exceeds the limit of 128000",
        "request (9013 tokens) exceeds the available context size (8192 tokens), try increasing it",
        "Requested tokens (9001) exceed context window of 4096",
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        "invalid params, context window exceeds limit",
        "Your request exceeded model token limit: 262144 (requested: 300000)",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
        "tokens in request more than max tokens allowed",
        "prompt too long; exceeded max context length by 12 tokens",
        "Error code: context_length_exceeded",
    ],
)
def test_too_long(text: str) -> None:
    assert says_too_long(text)


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit reached for requests per minute",
        "max_tokens must be at least 1",
        "Incorrect API key provided",
        "The server is overloaded, try again",
        "budget_tokens must be less than max_tokens",
        "string too long: tools[0].function.name is longer than 64 characters",
    ],
)
def test_something_else(text: str) -> None:
    assert not says_too_long(text)
