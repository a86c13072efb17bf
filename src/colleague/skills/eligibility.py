"""Whether a skill can be used here: by the settings, the system, its programs, variables and settings."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from colleague.config import Settings
from colleague.config.secret import Secret, resolve
from colleague.config.section import Section
from colleague.config.skills import SkillEntry
from colleague.errors import ConfigError
from colleague.skills.skill import Skill

CONFIG_VARIABLE = "SKILL_CONFIG"
"""What `skills.entries.*.config` is called for the commands of a skill, as JSON."""


@dataclass(frozen=True)
class SkillVariables:
    """What the commands of a skill get beside the usual environment, and what of it must not be shown."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class SkillConditions:
    """What skills meet: the settings of an agent, our environment, and where its programs are looked for."""

    settings: Settings
    environ: Mapping[str, str]
    path: str | None = None
    """None is that of our environment."""
    platform: str = sys.platform
    _programs: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)
    """Those that were looked for: many skills need the same."""

    def is_eligible(self, skill: Skill) -> bool:
        return next(self.obstacles(skill), None) is None

    def obstacles(self, skill: Skill) -> Iterator[str]:
        """Why a skill cannot be used; nothing when it can."""
        yield from self._switched_off(skill)
        needs = skill.head.needs
        if needs.os and self.platform not in needs.os:
            yield f"it is for {', '.join(needs.os)}, and this is {self.platform}"
        elif not needs.always:
            yield from self._missing_programs(skill)
            yield from self._missing_variables(skill)
            yield from self._missing_settings(skill)

    def is_allowed(self, skill: Skill) -> bool:
        """Whether the agent may use it, whatever it needs."""
        names = self.settings.agents.defaults.skills
        return names is None or skill.name in names or skill.key in names

    def variables(self, skill: Skill) -> SkillVariables:
        """Raises ConfigError for a reference to a variable that is not set."""
        entry = self._entry(skill)
        found = self._inherited(skill) | dict(self._configured(skill, entry))
        secrets = list(found.values())
        if entry.config:
            config = self._filled(dict(entry.config), f"skills.entries.{skill.key}.config", secrets)
            found[CONFIG_VARIABLE] = json.dumps(config)
        return SkillVariables(found, tuple(secrets))

    def variable_names(self, skill: Skill) -> set[str]:
        """Without their values, which nobody is shown."""
        entry = self._entry(skill)
        key = {skill.head.primary_env} if entry.api_key is not None and skill.head.primary_env else set()
        config = {CONFIG_VARIABLE} if entry.config else set()
        return {*self._inherited(skill), *entry.env, *key, *config}

    def _inherited(self, skill: Skill) -> dict[str, str]:
        """What it asks for of our environment. A skill of the workspace gets none: agents can write there."""
        asked = () if skill.source == "workspace" else (*skill.head.needs.env, skill.head.primary_env)
        return {name: self.environ[name] for name in asked if self.environ.get(name)}

    def _entry(self, skill: Skill) -> SkillEntry:
        entries = self.settings.skills.entries
        return entries.get(skill.key) or entries.get(skill.name) or SkillEntry()

    def _switched_off(self, skill: Skill) -> Iterator[str]:
        bundled = self.settings.skills.allow_bundled
        if not self._entry(skill).enabled:
            yield f"skills.entries.{skill.key}.enabled is false"
        if skill.source == "bundled" and bundled is not None and skill.name not in bundled:
            yield "skills.allowBundled does not name it"

    def _missing_programs(self, skill: Skill) -> Iterator[str]:
        needs = skill.head.needs
        for name in needs.bins:
            if not self._has_program(name):
                yield f"the program {name} is not installed"
        if needs.any_bins and not any(map(self._has_program, needs.any_bins)):
            yield f"none of the programs {', '.join(needs.any_bins)} is installed"

    def _has_program(self, name: str) -> bool:
        if name not in self._programs:
            path = self.environ.get("PATH") if self.path is None else self.path
            self._programs[name] = "/" not in name and shutil.which(name, path=path) is not None
        return self._programs[name]

    def _missing_variables(self, skill: Skill) -> Iterator[str]:
        entry = self._entry(skill)
        try:
            configured = {name for name, value in self._configured(skill, entry) if value}
        except ConfigError as error:
            yield error.message
            return
        for name in skill.head.needs.env:
            if name not in configured and not self.environ.get(name):
                yield f"the variable {name} is not set: set it, or skills.entries.{skill.key}.env.{name}"

    def _configured(self, skill: Skill, entry: SkillEntry) -> Iterator[tuple[str, str]]:
        """Raises ConfigError for a reference to a variable that is not set."""
        where = f"skills.entries.{skill.key}"
        if entry.api_key is not None and skill.head.primary_env:
            yield skill.head.primary_env, resolve(entry.api_key, self.environ, key=f"{where}.apiKey")
        for name, value in entry.env.items():
            yield name, resolve(value, self.environ, key=f"{where}.env.{name}")

    def _missing_settings(self, skill: Skill) -> Iterator[str]:
        own = self._entry(skill).config
        for name in skill.head.needs.config:
            if not (setting(self.settings, name) or setting(own, name)):
                yield f"the setting {name} is not set"

    def _filled(self, value: Any, key: str, secrets: list[str]) -> Any:
        """With `${NAME}` replaced; what must not be shown is added to `secrets`."""
        if isinstance(value, Mapping):
            return {name: self._filled(each, f"{key}.{name}", secrets) for name, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each, key, secrets) for each in value]
        found = resolve(value, self.environ, key=key) if isinstance(value, str | Secret) else value
        secrets += [found] if isinstance(value, Secret) else []
        return found


def setting(top: Section | Mapping[str, Any], name: str) -> Any:
    """A setting by its dotted name, as it counts; None when there is no such key."""
    value: Any = top
    for key in name.split("."):
        if isinstance(value, Section):
            fields = type(value).model_fields.items()
            value = next((getattr(value, each) for each, field in fields if field.alias == key), None)
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return value
