"""A home with skills in it, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from colleague.config import Settings
from colleague.skills.collection import SkillCollection, load_skills
from colleague.skills.eligibility import SkillConditions
from colleague.skills.places import SkillPlaces


def skill_text(name: str, head: str = "", body: str = "Do it well.") -> str:
    return f"---\nname: {name}\ndescription: About {name}\n{head}---\n\n{body}\n"


@dataclass
class SkillHome:
    """A root with `skills/` and `workspace/skills/`."""

    root: Path
    settings: dict[str, Any] = field(default_factory=dict)

    def put(self, name: str, text: str | None = None, *, at: str = "skills") -> Path:
        """Writes a SKILL.md below a folder of the home, and says where."""
        file = self.root / at / name / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(skill_text(name) if text is None else text)
        return file

    @property
    def read(self) -> Settings:
        bundled = {"allowBundled": [], **self.settings.get("skills", {})}
        return Settings.model_validate({**self.settings, "skills": bundled}).read_from(self.root, ())

    @property
    def skills(self) -> SkillCollection:
        found = load_skills(SkillPlaces.of(self.read))
        own = {name: each for name, each in found.skills.items() if each.source != "bundled"}
        return SkillCollection(own, found.overridden, found.broken)

    def conditions(self, **environ: str) -> SkillConditions:
        return SkillConditions(self.read, environ, str(self.root / "bin"), "linux")

    def obstacles(self, name: str, **environ: str) -> list[str]:
        return list(self.conditions(**environ).obstacles(self.skills.skills[name]))
