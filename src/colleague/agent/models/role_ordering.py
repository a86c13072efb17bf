"""How servers say that messages do not follow each other as they must."""

from __future__ import annotations

import re

_WORDINGS = (
    r"roles? must alternate",  # Anthropic, chat templates of vLLM and llama.cpp
    r"first message must (?:use|have|be).{0,20}user",  # Anthropic
    r"(?:conversation|messages?) must end with a user",  # Anthropic
    r"`?tool_use`? ids were found without `?tool_result`?",  # Anthropic
    r"unexpected `?tool_use_id`? found in `?tool_result`?",  # Anthropic
    r"tool_calls'? must be followed by tool messages",  # OpenAI
    r"role '?tool'? must be a response to a prece?eding message",  # OpenAI
    r"no tool (?:output|call) found for function call",  # OpenAI Responses
    r"function (?:call|response) turn comes immediately after",  # Google
    r"number of function response parts",  # Google
    r"multiturn requests (?:alternate|end)",  # Google
    r"expected last role user or tool|unexpected role .{1,20} after role",  # Mistral
    r"not the same number of function calls and responses",  # Mistral
)
_WRONG_ORDER = re.compile("|".join(_WORDINGS), re.IGNORECASE | re.DOTALL)


def says_wrong_order(text: str) -> bool:
    return _WRONG_ORDER.search(text) is not None
