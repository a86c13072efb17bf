"""Finding one skill by name, with a sentence for every reason that it cannot be had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from colleague.config import Settings
from colleague.errors import ColleagueError
from colleague.skills.collection import SkillCollection, load_skills
from colleague.skills.eligibility import SkillConditions
from colleague.skills.places import SkillPlaces
from colleague.skills.skill import SKILL_FILE, Skill
from colleague.suggest import did_you_mean


class SkillUnavailable(ColleagueError):
    """A skill cannot be used. The message goes on after its name: "is not installed"."""

    code = "skill-unavailable"

    def __init__(self, message: str, *, hint: str = "", is_installed: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.is_installed = is_installed


@dataclass(frozen=True)
class SkillLookup:
    """The skills of a home, for whoever names one."""

    places: SkillPlaces
    conditions: SkillConditions

    @classmethod
    def of(
        cls, settings: Settings, environ: Mapping[str, str], plugin_folders: Sequence[Path] = ()
    ) -> SkillLookup:
        return cls(SkillPlaces.of(settings, plugin_folders), SkillConditions(settings, environ))

    def require(self, name: str) -> Skill:
        """Raises SkillUnavailable."""
        found = load_skills(self.places)
        skill = found.skills.get(name)
        if skill is None:
            raise self._missing(name, found)
        obstacles = "; ".join(self.conditions.obstacles(skill))
        if obstacles:
            raise SkillUnavailable(f"cannot be used: {obstacles}", hint=f"see: colleague skill show {name}")
        return skill

    def _missing(self, name: str, found: SkillCollection) -> SkillUnavailable:
        broken = found.broken_of(name)
        if broken is not None:
            return SkillUnavailable(f"is broken: {broken.problem}", hint=broken.hint)
        where = " or ".join(str(folder / name / SKILL_FILE) for folder in self.places.own)
        hint = did_you_mean(name, found.skills) or f"it belongs in {where}"
        return SkillUnavailable("is not installed", hint=hint, is_installed=False)
