"""The skills that tools of an expert are bound to, with the instructions that reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from colleague.experts.bindings import Bindings
from colleague.skills.lookup import SkillLookup, SkillUnavailable
from colleague.skills.skill import Skill
from colleague.skills.skill_file import read_instructions


@dataclass(frozen=True)
class BoundSkill:
    """A skill in the place of a server."""

    skill: Skill
    instructions: str

    @property
    def name(self) -> str:
        return self.skill.name


BoundSkills = Mapping[str, BoundSkill]
"""Skills by the tool that is bound to them."""


def bound_skills(bindings: Bindings, lookup: SkillLookup) -> BoundSkills:
    """Those that can be used. What cannot is said where its operations are made."""
    bound = {tool: each.server for tool, each in bindings.tools.items() if each.type == "skill"}
    found: dict[str, BoundSkill] = {}
    for tool, name in bound.items():
        try:
            skill = lookup.require(name)
        except SkillUnavailable:
            continue
        found[tool] = BoundSkill(skill, read_instructions(skill.file))
    return found
