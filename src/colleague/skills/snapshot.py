"""The skills of a session as its prompt names them, kept with the session."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from colleague.config import Settings
from colleague.skills.index import skill_index
from colleague.skills.skill import Skill


@dataclass(frozen=True)
class SkillSnapshot:
    """`version` counts the snapshots of one conversation. The prompt of a session stays the same, byte for
    byte, as long as its snapshot does."""

    version: int
    prompt: str
    skills: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, skills: Sequence[Skill], settings: Settings, version: int = 1) -> SkillSnapshot:
        limits = settings.skills.limits
        prompt = skill_index(
            skills, most=limits.max_skills_in_prompt, most_chars=limits.max_skills_prompt_chars
        )
        return cls(version, prompt, tuple(_document(each) for each in skills))

    @classmethod
    def read(cls, text: str | None) -> SkillSnapshot | None:
        if not text:
            return None
        stored = json.loads(text)
        return cls(stored["version"], stored["prompt"], tuple(stored["skills"]))

    def to_json(self) -> str:
        return json.dumps(
            {"version": self.version, "prompt": self.prompt, "skills": self.skills}, ensure_ascii=False
        )

    def is_same(self, other: SkillSnapshot) -> bool:
        return (self.prompt, self.skills) == (other.prompt, other.skills)


NO_SKILLS = SkillSnapshot(1, "", ())


def next_snapshot(stored: SkillSnapshot | None, now: SkillSnapshot, *, watch: bool) -> SkillSnapshot:
    """The stored one as long as it holds. Without `watch` it holds until a new conversation begins, unless a
    skill of it may not be used any more."""
    if stored is None:
        return now
    names = {each["name"] for each in now.skills}
    if stored.is_same(now) or (not watch and all(each["name"] in names for each in stored.skills)):
        return stored
    return SkillSnapshot(stored.version + 1, now.prompt, now.skills)


def _document(skill: Skill) -> dict[str, Any]:
    return {"name": skill.name, "primary_env": skill.head.primary_env or None, "source": skill.source}
