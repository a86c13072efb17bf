"""The skills that tools of an expert are bound to, with the instructions that reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from colleague.experts.bindings import Bindings
from colleague.skills.lookup import SkillLookup, SkillUnavailable
from colleague.skills.skill import SKILL_FILE, Skill
from colleague.skills.skill_file import read_instructions


@dataclass(frozen=True)
class BoundSkill:
    """A skill in the place of a server."""

    skill: Skill
    instructions: str

    @property
    def name(self) -> str:
        return self.skill.name


_COMMANDS = {"exec", "bash", "process"}

BoundSkills = Mapping[str, BoundSkill]
"""Skills by the tool that is bound to them."""


def has_more_files(skill: Skill) -> bool:
    """Whether a skill is more than its SKILL.md."""
    try:
        return any(each.name != SKILL_FILE for each in skill.folder.iterdir())
    except OSError:
        return False


def has_scripts(skill: Skill) -> bool:
    """Whether a skill means commands to be run: it has a folder of scripts, or names a tool for commands."""
    named = {each.tool.partition("(")[0] for each in skill.head.allowed if not each.server}
    return (skill.folder / "scripts").is_dir() or bool(named & _COMMANDS)


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
