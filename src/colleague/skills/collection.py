"""All skills of a home: those that count, those that another one overrides, and those that are broken."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from colleague.skills.places import PlaceProblem, SkillPlace, SkillPlaces, skill_folders
from colleague.skills.skill import NAME, SKILL_FILE, BrokenSkill, OverriddenSkill, Skill
from colleague.skills.skill_file import SkillFlaw, read_head


@dataclass(frozen=True)
class SkillCollection:
    """By name, each name once."""

    skills: dict[str, Skill] = field(default_factory=dict)
    overridden: tuple[OverriddenSkill, ...] = ()
    broken: tuple[BrokenSkill, ...] = ()

    def broken_of(self, name: str) -> BrokenSkill | None:
        return next((each for each in self.broken if each.name == name), None)


def load_skills(places: SkillPlaces) -> SkillCollection:
    """Reads the frontmatter of every skill that has changed since it was last read."""
    counting: dict[str, Skill] = {}
    overridden: list[OverriddenSkill] = []
    broken: list[BrokenSkill] = []
    for place in places.all:
        for found in skill_folders(place):
            each = _read(place, found, places.most_bytes)
            if isinstance(each, BrokenSkill):
                broken.append(each)
                continue
            before = counting.get(each.name)
            if before is not None and before.source == each.source:
                overridden.append(OverriddenSkill(each, before))
                continue
            if before is not None:
                overridden.append(OverriddenSkill(before, each))
            counting[each.name] = each
    final = [OverriddenSkill(each.skill, counting[each.skill.name]) for each in overridden]
    return SkillCollection(dict(sorted(counting.items())), tuple(final), tuple(broken))


def _read(place: SkillPlace, found: Path | PlaceProblem, most_bytes: int) -> Skill | BrokenSkill:
    if isinstance(found, PlaceProblem):
        return BrokenSkill(found.path.name, place.source, found.path, found.problem, found.hint)
    head = read_head(found / SKILL_FILE, most_bytes)
    if isinstance(head, SkillFlaw):
        return BrokenSkill(found.name, place.source, found, head.problem, head.hint)
    name = head.name or found.name
    if not NAME.fullmatch(name):
        hint = "use letters, digits, dots, dashes and underscores, 64 at most"
        return BrokenSkill(found.name, place.source, found, f"{found}: its name cannot be used", hint)
    return Skill(name, place.source, found, head)
