"""How much people are told of what an agent thinks and does."""

from __future__ import annotations

from colleague.run_document import ReasoningMode, VerboseLevel


def shows_reasoning(mode: ReasoningMode) -> bool:
    return mode != "off"


def streams_reasoning(mode: ReasoningMode) -> bool:
    return mode == "stream"


def tells_calls(level: VerboseLevel) -> bool:
    return level != "off"


def tells_results(level: VerboseLevel) -> bool:
    return level == "full"
