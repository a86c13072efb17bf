"""A system prompt, put together from its sections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from colleague.agent.prompt.current_time import time_section
from colleague.agent.prompt.prompt_input import PromptInput
from colleague.agent.prompt.runtime_info import RuntimeInfo
from colleague.agent.prompt.sections import SECTIONS
from colleague.config import Settings
from colleague.session_document import PromptMode


@dataclass(frozen=True)
class PromptSection:
    name: str
    text: str
    changes: bool


@dataclass(frozen=True)
class Prompt:
    """The sections that have something to say."""

    mode: PromptMode
    sections: tuple[PromptSection, ...]

    @cached_property
    def stable(self) -> str:
        """The part that stays the same from turn to turn, which providers keep in their caches."""
        return _joined(each.text for each in self.sections if not each.changes)

    @cached_property
    def tail(self) -> str:
        return _joined(each.text for each in self.sections if each.changes)

    @property
    def text(self) -> str:
        return _joined(each for each in (self.stable, self.tail) if each)


def assemble_prompt(given: PromptInput, mode: PromptMode) -> Prompt:
    made = [
        PromptSection(rule.name, rule.make(given), rule.changes) for rule in SECTIONS if mode in rule.modes
    ]
    return Prompt(mode, tuple(each for each in made if each.text))


def prompt_tail(settings: Settings, now_ms: int, runtime: RuntimeInfo) -> str:
    """The end of a prompt that has sections of its own, such as an expert's."""
    return _joined([time_section(settings, now_ms), runtime.line])


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(texts)
