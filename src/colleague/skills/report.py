"""Skills as people see them: where each comes from, whether it can be used, and why not."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any, Literal

from colleague.errors import NotFound
from colleague.skills.collection import SkillCollection
from colleague.skills.eligibility import SkillConditions
from colleague.skills.skill import BrokenSkill, OverriddenSkill, Skill
from colleague.suggest import did_you_mean

SkillStatus = Literal["ready", "not eligible", "overridden", "broken"]
NOT_ALLOWED = "the skills of this agent do not name it (agents.defaults.skills, agents.list[].skills)"


def skill_documents(found: SkillCollection, conditions: SkillConditions) -> list[dict[str, Any]]:
    """All that are there, by name; of one name the one that counts first."""
    documents = [
        *(_of_skill(each, conditions) for each in found.skills.values()),
        *(_of_overridden(each) for each in found.overridden),
        *(_of_broken(each) for each in found.broken),
    ]
    return sorted(documents, key=lambda each: each["name"])


def skill_document(found: SkillCollection, conditions: SkillConditions, name: str) -> dict[str, Any]:
    """The one that counts, else a broken one. Raises NotFound."""
    skill, broken = found.skills.get(name), found.broken_of(name)
    if skill is not None:
        return _of_skill(skill, conditions)
    if broken is not None:
        return _of_broken(broken)
    hint = did_you_mean(name, found.skills) or "see them with: colleague skill list"
    raise NotFound(f"there is no skill {name!r}", hint=hint)


def problems(found: SkillCollection) -> Iterator[tuple[str, str]]:
    """What a person should mend, each with its cure."""
    for broken in found.broken:
        yield broken.problem, broken.hint
    for each in found.overridden:
        if each.skill.source == each.by.source:
            what = f"{each.skill.file}: {each.by.file} has the same name, {each.skill.name}, and counts"
            yield what, "give one of them another name"


def _of_skill(skill: Skill, conditions: SkillConditions) -> dict[str, Any]:
    reasons = [*conditions.obstacles(skill)] + ([] if conditions.is_allowed(skill) else [NOT_ALLOWED])
    status: SkillStatus = "not eligible" if reasons else "ready"
    head = skill.head
    return {
        **_common(skill, status),
        "reasons": reasons,
        "variables": sorted(conditions.variable_names(skill)),
        "install": [str(each) for each in head.install if _fits_here(each.os, conditions)] if reasons else [],
    }


def _fits_here(os: tuple[str, ...], conditions: SkillConditions) -> bool:
    return not os or conditions.platform in os or platform.system().lower() in os


def _of_overridden(each: OverriddenSkill) -> dict[str, Any]:
    return {**_common(each.skill, "overridden"), "reasons": [f"{each.by.file} has the same name"]}


def _of_broken(each: BrokenSkill) -> dict[str, Any]:
    return {
        **_EMPTY,
        "name": each.name,
        "status": "broken",
        "source": each.source,
        "folder": str(each.folder),
        "reasons": [each.problem],
        "hint": each.hint or None,
    }


def _common(skill: Skill, status: SkillStatus) -> dict[str, Any]:
    head = skill.head
    return {
        **_EMPTY,
        "name": skill.name,
        "status": status,
        "source": skill.source,
        "folder": str(skill.folder),
        "description": head.description,
        "homepage": head.homepage or None,
        "requires": {
            "os": list(head.needs.os),
            "bins": list(head.needs.bins),
            "any_bins": list(head.needs.any_bins),
            "env": list(head.needs.env),
            "config": list(head.needs.config),
            "always": head.needs.always,
        },
        "primary_env": head.primary_env or None,
        "allowed_tools": [str(each) for each in head.allowed],
        "user_invocable": head.user_invocable,
        "model_invocable": head.model_invocable,
        "warnings": list(head.warnings),
    }


_EMPTY: dict[str, Any] = {
    "name": "",
    "status": "",
    "source": "",
    "folder": "",
    "description": "",
    "reasons": [],
    "hint": None,
    "homepage": None,
    "requires": None,
    "primary_env": None,
    "variables": [],
    "install": [],
    "allowed_tools": [],
    "user_invocable": False,
    "model_invocable": False,
    "warnings": [],
}
