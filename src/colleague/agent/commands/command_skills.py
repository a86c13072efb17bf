"""Skills as commands meet them: the folders their scripts run in, and the variables that belong to each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from colleague.agent.commands.command_line import plain_words
from colleague.skills.eligibility import SkillConditions, SkillVariables
from colleague.skills.skill import Skill

INSIDE_SKILLS = "/skills"
"""Where a sandbox has skills that are not in its workspace."""


@dataclass(frozen=True)
class CommandSkills:
    """The skills of one session."""

    skills: Mapping[str, Skill] = field(default_factory=dict)
    conditions: SkillConditions | None = None

    @classmethod
    def of(cls, skills: Sequence[Skill], conditions: SkillConditions) -> CommandSkills:
        return cls({each.path: each for each in skills}, conditions)

    def folder(self, workdir: str) -> tuple[Path, str] | None:
        """The folder of the skill that a path of the workspace leads into, and what comes after it."""
        parts = PurePosixPath(workdir).parts
        skill = self.skills.get("/".join(parts[:2]))
        return (skill.folder, "/".join(parts[2:])) if skill else None

    def variables(self, line: str, workdir: str) -> SkillVariables:
        """Of the skills that a command belongs to: it runs in the folder of one, or is a program that one
        needs. No other command gets them."""
        if self.conditions is None:
            return SkillVariables()
        found = [self.conditions.variables(each) for each in self._of_command(line, workdir)]
        values = {name: value for each in found for name, value in each.values.items()}
        return SkillVariables(values, tuple(secret for each in found for secret in each.secrets))

    def _of_command(self, line: str, workdir: str) -> Iterator[Skill]:
        path = "/".join(PurePosixPath(workdir).parts[:2])
        program = (plain_words(line) or [""])[0]
        for skill in self.skills.values():
            needs = skill.head.needs
            if skill.path == path or program in (*needs.bins, *needs.any_bins):
                yield skill

    def inside(self, path: str) -> str | None:
        """What a path in the folder of a skill is called in a sandbox; None for any other path."""
        for skill in self.skills.values():
            top = str(skill.folder.resolve())
            if path == top or path.startswith(f"{top}/"):
                return f"{INSIDE_SKILLS}/{skill.name}{path[len(top) :]}"
        return None

    @property
    def mounts(self) -> list[tuple[Path, str]]:
        """Folders on the disk, and where a sandbox has them."""
        return [(each.folder, f"{INSIDE_SKILLS}/{each.name}") for each in self.skills.values()]
